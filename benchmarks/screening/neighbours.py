"""Neighbours made for real on this machine: each is a context that disturbs one virtual CPU.

``idle`` does nothing; ``hog`` computes at ordinary priority; ``burst`` computes at real-time
priority for so long in every 100 ms or more; ``quota`` puts a process and a hog into a control
group with an exhausted CPU quota.
"""

import contextlib
import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
FIFO_PRIORITY = 50
# Weights of control groups, by their version.
WEIGHTS = {1: ("262144", "2"), 2: ("10000", "1")}
GREATEST, LEAST = range(2)
# A burst computes until a moment, so that it lasts its length however it was scheduled.
BURST = """
import sys, time
busy, period = float(sys.argv[1]) / 1000, float(sys.argv[2]) / 1000
clock = time.monotonic
due = clock()
while True:
    start = clock()
    while clock() - start < busy:
        pass
    due += period
    if due < clock():
        due = clock()
    time.sleep(max(0, due - clock()))
"""
HOG = "while True: pass"
PR_SET_PDEATHSIG = 1
SLICE_NS = 100_000
# Number of the system call sched_setattr, which the C library of Python 3.11 does not wrap.
_SET_ATTRIBUTES = {"x86_64": 314, "aarch64": 274}


def find_missing(kind: str) -> str:
    """Why a kind of neighbour cannot be made here; empty when it can."""
    if kind == "burst":
        try:
            done = subprocess.run(["chrt", "-f", str(FIFO_PRIORITY), "true"], capture_output=True)
        except FileNotFoundError:
            return "chrt is not installed"
        return "real-time priority is not permitted" if done.returncode else ""
    if kind == "quota":
        with contextlib.suppress(OSError), create_group(1.0):
            return ""
        return "no CPU control group can be made"
    return ""


def follow_parent() -> None:
    """Have this process end with the one that started it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def shorten_slice() -> None:
    """Have this process ask for the shortest time slice (EEVDF, Linux 6.12).

    It then preempts other work of the computer when it wakes, instead of waiting for the end of
    its slice; a group has the shortest slice of its processes. Older kernels refuse it.
    """
    number = _SET_ATTRIBUTES.get(platform.machine())
    if number:
        # size, policy, flags, nice, priority, runtime in ns, deadline, period, utilisation.
        wanted = struct.pack("IIQiIQQQII", 56, 0, 0, 0, 0, SLICE_NS, 0, 0, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, wanted, 0)


@contextlib.contextmanager
def run_python(code: str, cpu: int, *words: object, priority: int = 0) -> Iterator[int]:
    """A separate process on one CPU that is ended with the context; gives its id."""

    def prepare() -> None:
        follow_parent()
        os.sched_setaffinity(0, {cpu})
        if priority:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))

    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        preexec_fn=prepare,
    )
    try:
        time.sleep(0.2)
        yield child.pid
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def idle(cpu: int) -> Iterator[None]:
    """The control: no neighbour."""
    yield


@contextlib.contextmanager
def run_busy_loop(cpu: int) -> Iterator[None]:
    """An ordinary process that never sleeps."""
    with run_python(HOG, cpu):
        yield


@contextlib.contextmanager
def burst(cpu: int, busy_ms: float, period_ms: float) -> Iterator[None]:
    """Real-time bursts of ``busy_ms`` in every ``period_ms``."""
    with run_python(BURST, cpu, busy_ms, period_ms, priority=FIFO_PRIORITY):
        yield


def find_cpu_folder() -> tuple[Path, int]:
    """Where CPU control groups are made here, and their version."""
    first = CGROUPS / "cpu"
    return (first, 1) if (first / "cpu.cfs_quota_us").exists() else (CGROUPS, 2)


@contextlib.contextmanager
def create_group(cpus: float) -> Iterator[Path]:
    """A control group with a quota; OSError where that is not permitted."""
    root, version = find_cpu_folder()
    folder = root / f"nephoscope-{os.getpid()}"
    folder.mkdir()
    try:
        set_quota(folder, version, cpus)
        # With the greatest weight it is the quota that ends its turn, and not what others do.
        set_weight(folder, version, GREATEST)
        yield folder
    finally:
        remove_group(folder)


def set_quota(folder: Path, version: int, cpus: float) -> None:
    """Limit a control group to so many CPUs in each period."""
    quota = str(round(cpus * PERIOD_US))
    if version == 1:
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (folder / "cpu.cfs_quota_us").write_text(quota)
    else:
        (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")


def set_weight(folder: Path, version: int, weight: int) -> None:
    """Set a control group's weight among its siblings: GREATEST or LEAST."""
    name = "cpu.shares" if version == 1 else "cpu.weight"
    (folder / name).write_text(WEIGHTS[version][weight])


def remove_group(folder: Path) -> None:
    """Remove an empty control group."""
    # The last process may still be on its way out.
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.05)


@contextlib.contextmanager
def quota(cpu: int, cpus: float = 0.3) -> Iterator[Path]:
    """A hog that exhausts the quota of its group; the measured process joins by the path given."""
    with create_group(cpus) as folder, run_python(HOG, cpu) as pid:
        (folder / "cgroup.procs").write_text(str(pid))
        yield folder
