"""Units measured on real sockets: slots in time, journals that outlive a kill, limits, and here."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from core.clock import FakeClock, SystemClock
from core.errors import BadInput
from tasks.campaigns import commands, local_run
from tasks.protocol.work_journal import Journal
from tasks.protocol.work_order import BEGAN, RESULT, Order, RunContext, fulfil, resume
from tasks.vantage.quotas import Budget, Limits
from tests.tasks.campaigns.field import assert_all_accounted, rows_in_lake
from tests.tasks.site import ROOT
from webapp.store.campaigns import progress
from webapp.store.models import Campaign


@pytest.fixture
def server():
    """Listens, and counts who came."""
    sock = socket.create_server(("127.0.0.9", 0))
    sock.settimeout(0.1)
    found, stop = [], threading.Event()

    def serve():
        while not stop.is_set():
            try:
                client, _ = sock.accept()
            except OSError:
                continue
            found.append(time.time())
            client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield sock.getsockname(), found
    stop.set()
    thread.join()
    sock.close()


def visits(came, least):
    """How many came, once those that were just sent have been taken in."""
    deadline = time.monotonic() + 5
    while len(came) < least and time.monotonic() < deadline:
        time.sleep(0.02)
    return len(came)


def order(address, n=3, **more):
    host, port = address
    now = time.time()
    told = {
        "campaign": "m",
        "unit": "r000000.ping.00000",
        "attempt": 1,
        "due": now + 0.1,
        "ends": now + 3,
        "probe": "tcp-ping",
        "targets": [{"host": host, "port": port, "family": 0, "path": "/"}],
        "slots": [[i, 0, 0.1 * i, 3.0] for i in range(n)],
        "options": {"count": 1, "timeout_s": 0.5, "method": "connect"},
        "allow": ["127.0.0.0/8"],
    }
    return Order(**{**told, **more})


class Home:
    def __init__(self):
        self.parcels = []

    def __call__(self, kind, head, columns):
        self.parcels.append((kind, dict(head), {k: list(v) for k, v in columns.items()}))

    @property
    def result(self):
        return next(p for p in self.parcels if p[0] == RESULT)


def test_slots_begin_when_they_should_and_results_say_so(server, tmp_path):
    address, came = server
    asked, home = order(address), Home()
    fulfil(asked, RunContext(SystemClock(), Journal(tmp_path)), home)
    assert [kind for kind, _, _ in home.parcels] == [BEGAN, RESULT]
    _, head, columns = home.result
    assert head == {**asked.head, "missed": {}}
    assert columns["slot"] == [0, 1, 2]
    assert all(r["status"] == "OK" and len(r["values"]) == 1 for r in columns["result"])
    assert visits(came, 3) == 3
    for moment, slot in zip(came, asked.slots, strict=True):
        assert -0.01 < moment - asked.due - slot[2] < 1.5
    # Once more: answered from the journal, measured once.
    again = Home()
    fulfil(asked, RunContext(SystemClock(), Journal(tmp_path)), again)
    assert again.result == home.result
    assert visits(came, 3) == 3


def test_a_clock_that_is_wrong_is_corrected(server):
    address, _ = server
    clock = FakeClock()
    now = clock.now().timestamp()
    ahead = order(address, due=now + 50 - 30, ends=now + 60, offset_s=30.0)
    home = Home()
    fulfil(ahead, RunContext(clock, Journal(None)), home)
    assert clock.monotonic() >= 50
    # Said by the site's clock, not by ours.
    assert home.result[2]["result"][0]["at"] == pytest.approx(now + 20, abs=1)


def test_what_is_too_late_is_missed_and_what_is_late_says_how_much(server):
    address, came = server
    now = time.time()
    late = order(address, due=now - 10, slots=[[0, 0, 0.0, 1.25], [1, 0, 5.0, 30.0]], strict=True)
    home = Home()
    fulfil(late, RunContext(SystemClock(), Journal(None)), home)
    _, head, columns = home.result
    assert head["missed"] == {0: "its time was over"}
    assert columns["slot"] == [1]
    assert columns["late_s"][0] == pytest.approx(5, abs=1)
    assert visits(came, 1) == 1


def test_limits_of_the_place_are_kept_and_told(server):
    address, came = server
    clock = FakeClock()
    budget = Budget(Limits(probes_per_s=100, bytes_per_day=700), clock=clock)
    home = Home()
    now = clock.now().timestamp()
    asked = order(address, n=5, due=now, ends=now + 3)
    fulfil(asked, RunContext(clock, Journal(None), budget.spend), home)
    _, head, columns = home.result
    assert len(columns["slot"]) == visits(came, 2) == 2
    assert len(head["missed"]) == 3
    assert all(why.startswith("limit: ") for why in head["missed"].values())


def test_a_stopped_campaign_is_left_at_once(server):
    address, came = server
    stopped = []
    asked = order(address, n=4, slots=[[i, 0, 1.0 * i, 9.0] for i in range(4)])
    bench = RunContext(FakeClock(), Journal(None), is_stopped=lambda campaign: campaign in stopped)
    home = Home()
    bench.clock.sleep(asked.due - bench.clock.now().timestamp())
    spend = bench.journal.add
    bench.journal.add = lambda *a: (spend(*a), stopped.append("m"))
    fulfil(asked, bench, home)
    _, head, columns = home.result
    assert columns["slot"] == [0]
    assert head["missed"] == dict.fromkeys([1, 2, 3], "the campaign was stopped")
    assert visits(came, 1) == 1
    # Nobody sat out the seconds of its slots.
    assert bench.clock.now().timestamp() - asked.due < 1


def test_a_slot_that_a_limit_holds_up_is_missed_where_it_is_anothers(server):
    """The next one at the target comes when the slot is over, whatever holds this one up."""
    address, came = server
    clock = FakeClock()
    budget = Budget(Limits(probes_per_s=0.1), clock=clock)
    now = clock.now().timestamp()
    asked = order(address, due=now, slots=[[i, 0, 1.0 * i, 1.0 * i + 0.5] for i in range(3)])
    home = Home()
    fulfil(asked, RunContext(clock, Journal(None), budget.spend), home)
    _, head, columns = home.result
    assert columns["slot"] == [0]
    assert head["missed"] == dict.fromkeys([1, 2], "its time was over")
    assert visits(came, 1) == 1


def test_targets_that_must_not_be_probed_are_refused_there_too(server):
    address, came = server
    home = Home()
    fulfil(order(address, allow=[]), RunContext(SystemClock(), Journal(None)), home)
    assert {r["status"] for r in home.result[2]["result"]} == {"FORBIDDEN"}
    assert not came


def test_a_target_that_refuses_is_a_result():
    with socket.create_server(("127.0.0.9", 0)) as sock:
        address = sock.getsockname()
    home = Home()
    fulfil(order(address), RunContext(SystemClock(), Journal(None)), home)
    assert [r["status"] for r in home.result[2]["result"]] == ["REFUSED"] * 3


def test_orders_that_are_none_are_refused(tmp_path):
    with pytest.raises(BadInput):
        Order.from_json({"colour": "red"})
    home = Home()
    fulfil(order(("127.0.0.9", 9), probe="knock"), RunContext(SystemClock(), Journal(None)), home)
    assert home.result[1]["missed"][2].startswith("not known here: 'knock' is not a probe")
    with pytest.raises(BadInput):
        fulfil(
            order(("127.0.0.9", 9), unit="../x/y"),
            RunContext(SystemClock(), Journal(tmp_path)),
            Home(),
        )


CHILD = """
import json, sys, time
from core.clock import SystemClock
from tasks.protocol.work_journal import Journal
from tasks.protocol.work_order import RunContext, Order, fulfil
from pathlib import Path
context = RunContext(SystemClock(), Journal(Path(sys.argv[1])))
fulfil(Order.from_json(json.loads(sys.argv[2])), context,
       lambda *told: None)
"""


def test_a_killed_process_goes_on_where_it_was(server, tmp_path):
    address, came = server
    slots = [[i, 0, 0.25 * i, 30.0] for i in range(8)]
    asked = order(address, due=time.time() + 1.0, ends=time.time() + 20, slots=slots)
    command = [sys.executable, "-c", CHILD, str(tmp_path), json.dumps(asked.as_json())]
    child = subprocess.Popen(command, cwd=ROOT)
    deadline = time.monotonic() + 20
    while len(came) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    # What the kill cut off in the middle of a line is no entry.
    (path,) = tmp_path.glob("*.jsonl")
    path.write_text(path.read_text() + '[7, {"late_s": 0.0, "resu')
    home = Home()
    resume(RunContext(SystemClock(), Journal(tmp_path)), home)
    columns = home.result[2]
    assert sorted(columns["slot"]) == list(range(8))
    assert {r["status"] for r in columns["result"]} == {"OK"}
    # One may have been under way when it was killed, and is measured again.
    assert 8 <= visits(came, 8) <= 9
    # Nothing is left to go on with.
    after = Home()
    resume(RunContext(SystemClock(), Journal(tmp_path)), after)
    assert not after.parcels


def test_a_journal_without_room_stops_no_measurement(server, tmp_path):
    address, came = server
    (tmp_path / "file").write_text("")
    home = Home()
    fulfil(order(address), RunContext(SystemClock(), Journal(tmp_path / "file")), home)
    assert len(home.result[2]["slot"]) == visits(came, 3) == 3


@pytest.fixture
def lake(settings, tmp_path):
    settings.LAKE_DIR = settings.DATA_DIR = tmp_path


HERE = {
    "round_s": 1.5,
    "rounds": 2,
    "activities": [
        {
            "name": "ping",
            "probe": "tcp-ping",
            "slot_s": 0.2,
            "options": {"count": 2, "timeout_s": 0.2, "interval_s": 0.01, "method": "connect"},
        },
    ],
}


@pytest.mark.django_db
def test_a_campaign_is_measured_from_here_without_a_broker(server, lake):
    (host, port), came = server
    asked = {
        "name": "mine",
        "schedule": HERE,
        "allow": ["127.0.0.0/8"],
        "vantages": ["here"],
        "targets": [
            {"host": host, "port": port, "region": "a"},
            {"host": "127.0.0.10", "port": port, "region": "b"},
        ],
    }
    made = commands.start(asked, here=True)
    done = local_run.run_here(made)
    assert done.state == Campaign.State.FINISHED
    counts = assert_all_accounted(done)
    assert (counts["ok"], counts["failed"], counts["missed"]) == (2, 2, 0)
    headline = progress.coverage_tables(done)[0].headline
    assert headline == "4 of 4 planned slots were measured, 2 of them without a value"
    rows = rows_in_lake(done)
    assert {(r["region"], r["status"]) for r in rows} == {("a", "OK"), ("b", "REFUSED")}
    assert all(r["vantage"] == "here" and r["activity"] == "ping" for r in rows)
    assert visits(came, 4) == 4


@pytest.mark.django_db
def test_a_campaign_from_here_goes_on_after_an_interruption(server, lake):
    (host, port), _ = server
    asked = {
        "name": "mine",
        "schedule": HERE,
        "allow": ["127.0.0.0/8"],
        "vantages": ["here"],
        "targets": [{"host": host, "port": port}],
    }

    class Interrupted(SystemClock):
        naps = 0

        def sleep(self, seconds):
            self.naps += 1
            if self.naps > 8:
                raise KeyboardInterrupt
            super().sleep(min(seconds, 0.2))

    made = commands.start(asked, here=True)
    with pytest.raises(KeyboardInterrupt):
        local_run.run_here(made, Interrupted())
    again = commands.unfinished_here("mine")
    assert again == made
    done = local_run.run_here(again)
    assert done.is_final
    assert_all_accounted(done)
