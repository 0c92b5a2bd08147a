"""Agents' reports over real sockets: honest ones arrive once, hostile ones change nothing."""

import contextlib
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests import forks
from tests.delays import within
from tests.stores import connect, copy_store, settings_of

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "fixtures" / "screening" / "report.json"
REPORTS = "/api/v1/screening/reports"
MAKE = """
import django, json
django.setup()
from webapp.store.access.visibility import OPERATOR
from webapp.store.screening.services import PoolSettings, create_pool, create_token, revoke_token
ours, theirs = (create_pool(OPERATOR, PoolSettings(name=name)) for name in ("ours", "theirs"))
number, revoked = create_token(ours)
revoke_token(ours, number)
print(json.dumps({
    "key": ours.key, "token": create_token(ours)[1], "revoked": revoked,
    "their_key": theirs.key, "theirs": create_token(theirs)[1],
}))
"""


class Site:
    """A web server of its own, on a folder of its own."""

    def __init__(self, folder):
        self.folder = copy_store(folder)
        self.environment = {
            **os.environ,
            "NEPHOSCOPE_DATA": str(folder),
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
            "REDIS_URL": "redis://127.0.0.1:1/0",
            **settings_of(self.folder),
        }
        made = forks.run(
            [sys.executable, "-c", MAKE],
            cwd=ROOT,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
        )
        self.cast = json.loads(made.stdout)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        words = [
            sys.executable,
            "-m",
            "webapp.server",
            "--port",
            str(self.port),
            "--log-level",
            "error",
        ]
        self.process = forks.Process(words, cwd=ROOT, env=self.environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, "the server did not start"
            time.sleep(0.05)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)

    def stored(self):
        """Everything that a report could change."""
        with connect(self.folder) as run:
            rows = run("SELECT report_id FROM store_poolreport ORDER BY id")
            (counts,) = run(
                "SELECT (SELECT count(*) FROM store_poolinstance), "
                "(SELECT sum(n_reports) FROM store_pool), (SELECT sum(revision) FROM store_pool)"
            )
        packs = sorted((str(p), p.stat().st_size) for p in self.folder.rglob("*.pack"))
        return rows, counts, packs

    def post(self, body, token=None, path=REPORTS, **headers):
        """Status and document; a machine that is busy with other tests is asked again."""
        for _ in range(20):
            status, document = self.post_once(body, token, path, **headers)
            if status != 503:
                break
            time.sleep(0.5)
        return status, document

    def post_once(self, body, token=None, path=REPORTS, **headers):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        words = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {token or self.cast['token']}",
        }
        words |= {name.replace("_", "-"): value for name, value in headers.items()}
        line.request("POST", path, body, {k: v for k, v in words.items() if v is not None})
        answer = line.getresponse()
        document = json.loads(answer.read())
        line.close()
        return answer.status, document

    def begin(self, *lines):
        """A socket that has sent the head of a request."""
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=40)
        head = [
            f"POST {REPORTS} HTTP/1.1",
            "Host: 127.0.0.1",
            "Content-Type: application/json",
            f"Authorization: Bearer {self.cast['token']}",
            *lines,
        ]
        raw.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
        return raw


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    found = Site(tmp_path_factory.mktemp("ingest"))
    found.start()
    yield found
    found.stop()


def report(number, **changes):
    document = json.loads(SAMPLE.read_bytes())
    document |= {"report_id": f"{number:032x}", **changes}
    return document


def pack(document):
    return json.dumps(document).encode()


def test_a_report_arrives_once_and_its_repetition_says_so(site):
    body = pack(report(1))
    status, told = site.post(body, Idempotency_Key=f"{1:032x}")
    assert (status, told["verdict"], told["repeated"]) == (201, "bad", False)
    before = site.stored()
    status, told = site.post(body)
    assert (status, told["repeated"]) == (200, True)
    assert site.stored() == before


def spoil(change):
    document = report(77)
    change(document)
    return pack(document)


HOSTILE = {
    "no JSON": (b"{", {}, 422, "not a JSON document"),
    "wrong schema": (spoil(lambda d: d.update(schema="x/9")), {}, 422, "schema"),
    "unknown field": (spoil(lambda d: d.update(pool="other")), {}, 422, "pool"),
    "negative count": (spoil(lambda d: d["cpus"][0].update(wakeups=-1)), {}, 422, "wakeups"),
    "negative slot": (
        spoil(lambda d: d["cpus"][0]["histogram"][0].__setitem__(1, -5)),
        {},
        422,
        "histogram",
    ),
    "counts that are true": (
        spoil(lambda d: d["cpus"][0]["histogram"][0].__setitem__(1, True)),
        {},
        422,
        "histogram",
    ),
    "not a number": (
        pack(report(77)).replace(b'"seconds": 10.0', b'"seconds": NaN', 1),
        {},
        422,
        "",
    ),
    "infinity": (
        pack(report(77)).replace(b'"seconds": 10.0', b'"seconds": Infinity', 1),
        {},
        422,
        "",
    ),
    "a field twice": (b'{"schema": "x", ' + pack(report(77))[1:], {}, 422, "repeated"),
    "a field twice inside": (
        pack(report(77)).replace(b'"host": {', b'"host": {"name": "other", ', 1),
        {},
        422,
        "repeated",
    ),
    "nested objects": (b'{"host":' * 50_000, {}, 422, ""),
    "HTML in a name": (
        spoil(lambda d: d["host"].update(name="<script>alert(1)</script>")),
        {},
        422,
        "name",
    ),
    "half a sign": (
        spoil(lambda d: d["host"].update(cpu_model="\ud800")),
        {},
        422,
        "cpu_model",
    ),
    "an endless number": (
        pack(report(77)).replace(b'"seconds": 10.0', b'"seconds": 1e999', 1),
        {},
        422,
        "",
    ),
    "a report of tomorrow": (spoil(lambda d: d.update(started_at=4e9)), {}, 422, "started_at"),
    "a deep nest": (b"[" * 200_000, {}, 422, ""),
    "another key than its id": (pack(report(77)), {"Idempotency_Key": "0" * 32}, 422, "report_id"),
    "replay with other content": (pack(report(1, notes=["x"])), {}, 409, "report_id"),
    "gzip": (gzip.compress(b" " * 10**7), {"Content_Encoding": "gzip"}, 415, "Content-Encoding"),
    "a form": (b"a=b", {"Content_Type": "application/x-www-form-urlencoded"}, 415, "json"),
    "no token": (pack(report(77)), {"Authorization": None}, 401, "token"),
    "an odd token": (pack(report(77)), {"Authorization": "Basic abc"}, 401, "token"),
    "an unknown token": (pack(report(77)), {"Authorization": "Bearer nsp_x"}, 401, "token"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_reports_are_refused_with_a_clear_error_and_change_nothing(site, name):
    body, headers, status, word = HOSTILE[name]
    site.post(pack(report(1)))
    before = site.stored()
    found, problem = site.post(body, **headers)
    assert found == status
    assert problem["status"] == status
    assert problem["type"].startswith("/api/v1/problems/")
    assert word in problem["detail"] or problem.get("field") == word
    assert "<" not in problem["detail"]
    assert site.stored() == before


def test_tokens_write_to_their_own_pool_only_and_not_once_revoked(site):
    before = site.stored()
    foreign = f"/api/v1/screening/pools/{site.cast['their_key']}/reports"
    assert site.post(pack(report(78)), path=foreign)[0] == 403
    status, problem = site.post(pack(report(78)), token=site.cast["revoked"])
    assert status == 401
    assert "revoked" in problem["detail"]
    request = urllib.request.Request(
        f"{site.base}/api/v1/screening/pools/{site.cast['key']}",
        headers={"Authorization": f"Bearer {site.cast['token']}"},
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)
    assert site.stored() == before
    own = f"/api/v1/screening/pools/{site.cast['key']}/reports"
    assert site.post(pack(report(79)), path=own)[0] == 201


def read_answer(raw):
    """All that comes until the server closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while piece := raw.recv(65_536):
            parts.append(piece)
    return b"".join(parts)


def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(site):
    before = site.stored()
    with within(10), site.begin("Content-Length: 1000000000") as raw:
        raw.sendall(b" " * 100_000)
        answer = read_answer(raw)
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b"8,000,000" in answer
    assert site.stored() == before


def test_an_upload_of_a_gigabyte_is_refused_before_it_is_kept(site):
    with socket.create_connection(("127.0.0.1", site.port), timeout=40) as raw:
        raw.sendall(
            b"POST /api/v1/screening/verdict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Length: 1000000000\r\n\r\n" + b" " * 100_000
        )
        answer = read_answer(raw)
    assert b" 413 " in answer.split(b"\r\n")[0]
    status, told = site.post(
        SAMPLE.read_bytes(), path="/api/v1/screening/verdict", Authorization=None
    )
    assert (status, told["results"][0]["verdict"]) == (200, "bad")


def test_a_body_without_end_is_cut_off(site):
    before = site.stored()
    raw = site.begin("Transfer-Encoding: chunked")
    answers = []
    reader = threading.Thread(target=lambda: answers.append(read_answer(raw)))
    reader.start()
    sent = 0
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    try:
        while sent < 400_000_000:
            raw.sendall(chunk)
            sent += len(chunk)
    except OSError:
        pass
    # The reset may reach the reader before the answer; then only the cut is seen.
    reader.join(20)
    raw.close()
    assert sent < 400_000_000
    refused = (b"HTTP/1.1 413", b"HTTP/1.1 503")
    assert not answers or not answers[0] or answers[0].startswith(refused)
    assert site.stored() == before


def test_slow_senders_keep_nobody_waiting(site):
    before = site.stored()
    slow = [site.begin("Content-Length: 10000") for _ in range(60)]
    try:
        for raw in slow:
            raw.sendall(b"{")
        # They may keep their connections for 30 s.
        with within(20):
            assert site.post(pack(report(80)))[0] == 201
    finally:
        for raw in slow:
            raw.close()
    assert len(site.stored()[0]) == len(before[0]) + 1


def test_reports_at_the_same_time_with_one_id_are_stored_once(site):
    body, found = pack(report(81)), []
    threads = [threading.Thread(target=lambda: found.append(site.post(body))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in found) == [200] * 11 + [201]


class Crowd:
    """Agents that send again and again, each with its own id, until their report is confirmed."""

    def __init__(self, site, first, last):
        self.site, self.confirmed, self.lock = site, set(), threading.Lock()
        self.numbers = iter(range(first, last))
        self.threads = [threading.Thread(target=self.work) for _ in range(8)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()

    def work(self):
        while (number := self.take()) is not None:
            while self.post(number) not in (200, 201):
                time.sleep(0.1)
            self.confirmed.add(f"{number:032x}")

    def take(self):
        with self.lock:
            return next(self.numbers, None)

    def post(self, number):
        try:
            return self.site.post(pack(report(number)))[0]
        except (OSError, http.client.HTTPException):
            return 0


def test_nothing_that_was_confirmed_is_lost_when_the_server_is_killed(site):
    crowd = Crowd(site, 1000, 1300)
    crowd.start()
    while len(crowd.confirmed) < 100:
        time.sleep(0.01)
    site.stop(signal.SIGKILL)
    early = set(crowd.confirmed)
    stored = {row[0] for row in site.stored()[0]}
    site.start()
    crowd.join()
    assert early <= stored
    rows = [row[0] for row in site.stored()[0]]
    assert crowd.confirmed <= set(rows)
    assert len(rows) == len(set(rows))


def test_the_real_agent_outlives_an_outage_of_its_site(site, tmp_path):
    with urllib.request.urlopen(f"{site.base}/agent") as answer:
        (tmp_path / "agent.py").write_bytes(answer.read())
    before = len(site.stored()[0])
    site.stop()
    words = [
        sys.executable,
        "-I",
        "agent.py",
        "--pool",
        site.cast["token"],
        "--seconds",
        "1",
        "--name",
        "outlived",
        "--patience",
        "60",
    ]
    agent = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(3)
    site.start()
    _, said = agent.communicate(timeout=60)
    assert agent.returncode == 0, said
    assert "has arrived" in said
    assert len(site.stored()[0]) == before + 1


def test_one_line_runs_the_agent_from_the_site(site, tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("curl is not here")
    line = f"curl -s {site.base}/agent | {sys.executable} - --pool {site.cast['token']} --seconds 1"
    done = subprocess.run(
        ["sh", "-c", f"{line} --name piped"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
