"""The agent as one file: what it measures, sends and leaves behind."""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from screening import bundle
from screening.agent_parts.delivery import deliver
from screening.agent_parts.histograms import SLOTS, find_bounds_ns, find_slot
from screening.report.parsing import parse_report
from tests.screening.conftest import AGENT

pytestmark = pytest.mark.services

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the agent needs Linux")
compiler = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler is installed")


def test_the_file_is_written_again_when_its_modules_change(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "AGENT", tmp_path / "agent.py")
    written = bundle.write_agent()
    before = written.stat().st_ino
    assert bundle.write_agent().stat().st_ino == before
    monkeypatch.setattr(bundle, "HEAD", "# changed\n")
    assert bundle.write_agent().read_text() == bundle.build()
    assert written.read_text().startswith("# changed")
    assert list(tmp_path.iterdir()) == [written]


def test_the_site_serves_it_with_its_own_address():
    text = bundle.build_for_site("https://example.org")
    assert "SITE_URL = 'https://example.org'" in text
    ast.parse(text)


def test_it_is_python_3_8_and_imports_the_standard_library_alone():
    tree = ast.parse(AGENT.read_text(), feature_version=(3, 8))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    assert names <= sys.stdlib_module_names


def find_python_3_8():
    home = Path.home() / ".pyenv" / "versions"
    found = next(map(str, home.glob("3.8*/bin/python")), None) or shutil.which("python3.8")
    return found or pytest.skip("no Python 3.8 is installed")


@linux
def test_python_3_8_runs_all_of_it(tmp_path):
    words = ("--seconds", "1", "--battery", "--files", "3", "--every", "1", "--json")
    runs = [
        subprocess.Popen(
            [find_python_3_8(), "-I", str(AGENT), *words, *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        )
        for more in ((), ("--python",))
    ]
    for run in runs:
        said, error = run.communicate(timeout=40)
        assert run.returncode == 0, error
        assert parse_report(said, time.time()).host.python.startswith("3.8.")
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_later_pythons_is_called():
    late = ("removeprefix", "removesuffix", "zip(strict", "strict=", "datetime.UTC", "math.lcm")
    text = AGENT.read_text()
    assert [word for word in late if word in text] == []


def test_slots_cover_all_durations_without_a_gap():
    bounds = [find_bounds_ns(slot) for slot in range(SLOTS)]
    assert bounds[0] == (0, 0)
    assert all(low == before[1] + 1 for before, (low, _) in zip(bounds, bounds[1:], strict=False))
    for value in (0, 1, 127, 128, 129, 9_999_999, 10_000_000, 2**39 + 12345):
        low, high = find_bounds_ns(find_slot(value))
        assert low <= value <= high
        assert high - low <= max(value * 0.016, 1)


@linux
def test_no_file_is_left_and_a_pipe_will_do(agent, tmp_path):
    done = agent("--seconds", 1, "--battery", "--files", 3, "--every", 1, "--json")
    report = json.loads(done.stdout)
    assert report["battery"][0]["cpu_ms"] > 0
    assert report["battery"][0]["disk_read_mb_s"] > 0
    assert len(report["battery"][0]["disk_small_read_ms"]) == 40
    assert list(tmp_path.iterdir()) == []
    piped = subprocess.run(
        [sys.executable, "-", "--seconds", "1", "--python"],
        input=AGENT.read_bytes(),
        capture_output=True,
        timeout=30,
    )
    assert piped.returncode == 0, piped.stderr
    assert b"sleeps" in piped.stdout


def children_of(pid):
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[1] == str(pid) and words[0] != "Z":
            found.append(int(path.parent.name))
    return found


def wait_for(check, limit_s=10.0):
    end = time.monotonic() + limit_s
    while not (found := check()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("mode", ["--python", "--json"])
def test_no_process_outlives_it(number, mode, tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(AGENT), "--seconds", "60", mode],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
    )
    wanted = len(os.sched_getaffinity(0))
    samplers = wait_for(lambda: (c := children_of(process.pid)) and len(c) == wanted and c)
    # A compiler is one child too, where there is one CPU: its folder has gone when it has ended.
    wait_for(lambda: not list(tmp_path.iterdir()))
    samplers = wait_for(lambda: children_of(process.pid))
    process.send_signal(number)
    process.wait(60)
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in samplers))
    assert list(tmp_path.iterdir()) == []


def test_options_have_bounds(agent):
    for words in (
        ("--seconds", 121),
        ("--sleep-us", 1),
        ("--rates", "100,-3"),
        ("--files", 1000),
        ("--pool", "t"),
        ("--upload", "x"),
    ):
        done = agent(*words)
        assert done.returncode == 2, words
        assert "error:" in done.stderr
    assert agent("--cpu", 60_000, "--seconds", 1).returncode == 1


class Site(ThreadingHTTPServer):
    """A site that answers as told, and remembers what it was sent."""

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.got = list(answers), []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), json.loads(body)))
        status = self.server.answers.pop(0) if self.server.answers else 201
        if status == 0:
            self.connection.close()
            return
        text = json.dumps({"detail": "the pool is <closed>"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if status in (503, 429):
            self.send_header("Retry-After", "1")
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def test_it_sends_again_until_the_site_takes_it(agent, tmp_path, sample):
    (tmp_path / "result.json").write_bytes(sample)
    site = Site([0, 503])
    done = agent("--upload", "result.json", "--pool", "secret", "--server", site.url)
    assert done.returncode == 0, done.stderr
    assert len(site.got) == 3
    assert {headers["Authorization"] for _, headers, _ in site.got} == {"Bearer secret"}
    assert {body["report_id"] for *_, body in site.got} == {json.loads(sample)["report_id"]}
    assert {headers["Idempotency-Key"] for _, headers, _ in site.got} == {
        json.loads(sample)["report_id"]
    }
    site.shutdown()


def test_it_waits_as_long_as_it_is_told_and_ever_longer_otherwise(sample):
    site, pauses = Site([503, 429, 0, 500, 408]), []
    deliver(json.loads(sample), site.url, "secret", 60, pauses.append)
    assert len(site.got) == 6
    told, own = pauses[:2], pauses[2:]
    assert all(1 <= pause <= 1.5 for pause in told)
    assert all(0.5 * 2**at <= pause <= 1.5 * 2**at for at, pause in enumerate(own))
    site.answers = [503] * 9
    with pytest.raises(OSError, match="HTTP 503"):
        deliver(json.loads(sample), site.url, "secret", 0, pauses.append)
    site.shutdown()


@pytest.mark.parametrize("status", [400, 401, 403, 413, 422, 302])
def test_it_does_not_insist_when_it_is_refused(agent, tmp_path, sample, status):
    (tmp_path / "result.json").write_bytes(sample)
    site = Site([status])
    done = agent("--upload", "result.json", "--pool", "x", "--server", site.url)
    assert done.returncode == 1
    assert len(site.got) == 1
    assert f"refused: HTTP {status}" in done.stderr
    site.shutdown()


@linux
def test_a_site_that_stays_away_costs_no_result(agent, tmp_path):
    words = ("--pool", "x", "--server", "http://127.0.0.1:1", "--patience", 0)
    done = agent("--seconds", 1, "--python", *words)
    assert done.returncode == 1
    (kept,) = tmp_path.iterdir()
    assert kept.name in done.stderr
    assert parse_report(kept.read_bytes(), time.time()).cpus


@linux
def test_a_disk_that_takes_nothing_costs_no_result(agent, tmp_path):
    done = agent("--seconds", 1, "--python", "--output", "no-folder/result.json")
    assert done.returncode == 1
    assert "standard output" in done.stderr
    assert parse_report(done.stdout.encode(), time.time()).cpus


@linux
@compiler
def test_a_kill_while_it_compiles_leaves_nothing(tmp_path):
    for delay_s in (0.1, 0.2, 0.3, 0.4):
        process = subprocess.Popen(
            [sys.executable, str(AGENT), "--seconds", "60", "--json"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        )
        time.sleep(delay_s)
        process.kill()
        process.wait(60)
    assert wait_for(lambda: not list(tmp_path.iterdir()))
