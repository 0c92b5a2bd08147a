"""Children of ``make run``: started again when they end, given up in the end, with short logs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy import processes
from deploy.processes import Child, Family

# Writes a line when it is ready, so that nothing is killed before it has begun.
READY = "import sys, time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture
def family(tmp_path):
    found = Family(tmp_path / "logs", dict(os.environ), pause_s=0.05)
    found.said = []
    found.report = found.said.append
    yield found
    found.stop()


def watch_until(family, ready, limit_s=60):
    deadline = time.monotonic() + limit_s
    while not ready():
        assert time.monotonic() < deadline
        fallen = family.watch()
        if fallen:
            return fallen
        time.sleep(0.02)
    return None


@pytest.mark.parametrize("vital", [True, False])
def test_a_killed_child_is_back_and_the_line_says_what_ended_it(family, vital):
    child = family.start(Child("web", [sys.executable, "-c", READY], vital=vital))
    watch_until(family, lambda: "ready" in family.tail(child))
    first = child.process.pid
    os.kill(first, signal.SIGKILL)
    assert watch_until(family, lambda: child.process.pid != first) is None
    assert child.process.poll() is None
    (line,) = family.said
    assert line.startswith("web was ended by signal 9 (SIGKILL); it starts again in ")
    assert str(family.folder / "web.log") in line


def test_a_vital_child_that_ends_at_once_is_given_up(family, monkeypatch):
    monkeypatch.setattr(processes, "MOST_DEATHS", 3)
    child = family.start(Child("web", [sys.executable, "-c", "raise SystemExit(3)"], vital=True))
    fallen = watch_until(family, lambda: False)
    assert fallen is child
    assert child.end == "ended with exit code 3"
    assert len(family.said) == 3


def test_a_child_that_is_not_vital_is_never_given_up(family, monkeypatch):
    monkeypatch.setattr(processes, "MOST_DEATHS", 1)
    child = family.start(Child("beat", [sys.executable, "-c", ""]))
    assert watch_until(family, lambda: len(child.deaths) >= 2) is None


def test_a_log_is_turned_over_while_its_process_writes_on(family, monkeypatch):
    monkeypatch.setattr(processes, "KEPT_LOG_BYTES", 100_000)
    writer = (
        "import time\n"
        "for number in range(40_000):\n"
        "    print(f'line {number:08d}', flush=True)\n"
        "    number % 400 or time.sleep(0.005)\n"
        # A line that is written while the log is cut is in the older file.
        "while True:\n"
        "    print('the end', flush=True)\n"
        "    time.sleep(0.1)\n"
    )
    child = family.start(Child("web", [sys.executable, "-c", writer]))
    log = family.log_of(child)
    sizes = []

    def ended():
        sizes.append(log.stat().st_size)
        return "the end" in family.tail(child)

    watch_until(family, ended)
    assert sum(sizes[i] > sizes[i + 1] for i in range(len(sizes) - 1)) >= 3
    assert log.with_suffix(".log.1").stat().st_size > 100_000
    # Cut at its beginning, and not a file full of holes.
    assert b"\0" not in log.read_bytes()


LAUNCHER = """
import os, sys, time
from pathlib import Path
from deploy.processes import Child, Family
family = Family(Path(sys.argv[1]), dict(os.environ))
print(family.start(Child("web", [sys.executable, "-c", sys.argv[2]])).process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has PR_SET_PDEATHSIG")
def test_children_end_when_the_launcher_is_killed(tmp_path):
    command = [sys.executable, "-c", LAUNCHER, str(tmp_path), READY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        child = int(launcher.stdout.readline())
        launcher.kill()
    try:
        deadline = time.monotonic() + 20
        while is_running(child):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)


def is_running(pid):
    """Whether a process exists and is no zombie that awaits its new parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
