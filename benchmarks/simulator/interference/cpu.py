"""Two CPU control groups on one virtual CPU: shares by weight and cap, and work beside a busy loop.

Needs root, and control groups of version 1 or 2 with the ``cpu`` controller.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.screening.neighbours import HOG, find_cpu_folder, run_python

PERIOD_US = 100_000
# The least weight of a group; the others are multiples of it.
UNIT = 64
WORK = """
import sys
from screening.agent_parts.battery import time_cpu_ms
sys.stdin.readline()
print(time_cpu_ms())
"""


@contextlib.contextmanager
def open_groups(names: tuple[str, ...]) -> Iterator[dict[str, Path]]:
    """Groups under one that has the greatest weight; raises ``OSError`` where that is refused."""
    root, version = find_cpu_folder()
    parent = root / f"nephoscope-interference-{os.getpid()}"
    parent.mkdir()
    folders = {name: parent / name for name in names}
    try:
        if version == 2:
            (parent / "cgroup.subtree_control").write_text("+cpu")
        weight = ("cpu.shares", "262144") if version == 1 else ("cpu.weight", "10000")
        (parent / weight[0]).write_text(weight[1])
        for folder in folders.values():
            folder.mkdir()
        yield folders
    finally:
        for folder in (*folders.values(), parent):
            _remove(folder)


def _remove(folder: Path) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        if not folder.exists():
            return
        time.sleep(0.02)


def set_weight(folder: Path, units: float) -> None:
    """Set the weight of a group as a multiple of the least one."""
    if (folder / "cpu.shares").exists():
        (folder / "cpu.shares").write_text(str(round(UNIT * units)))
    else:
        (folder / "cpu.weight").write_text(str(round(10 * units)))


def set_cap(folder: Path, share: float) -> None:
    """Set the largest share of one CPU."""
    quota = str(round(share * PERIOD_US))
    if (folder / "cpu.cfs_quota_us").exists():
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (folder / "cpu.cfs_quota_us").write_text(quota)
    else:
        (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")


def read_cpu_s(pid: int) -> float:
    """Return the CPU time of a process in seconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measure_shares(cpu: int, seconds: float, folders: dict[str, Path]) -> dict[str, float]:
    """CPU time by wall time of a busy loop in each group, all on one CPU."""
    with contextlib.ExitStack() as stack:
        pids = {name: stack.enter_context(run_python(HOG, cpu)) for name in folders}
        for name, folder in folders.items():
            (folder / "cgroup.procs").write_text(str(pids[name]))
        before = {name: read_cpu_s(pid) for name, pid in pids.items()}
        began = time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - began
        return {name: (read_cpu_s(pid) - before[name]) / passed for name, pid in pids.items()}


def measure_weights(cpu: int, seconds: float, ratio: float) -> float:
    """CPU time of the heavier group by that of the lighter one."""
    with open_groups(("heavy", "light")) as folders:
        set_weight(folders["heavy"], ratio)
        set_weight(folders["light"], 1)
        shares = measure_shares(cpu, seconds, folders)
    return shares["heavy"] / max(shares["light"], 1e-9)


def measure_cap(cpu: int, seconds: float, cap: float, with_rival: bool) -> float:
    """The share of a CPU that a capped busy loop gets; a rival is capped to the rest of it."""
    names = ("capped", "rival") if with_rival else ("capped",)
    with open_groups(names) as folders:
        set_cap(folders["capped"], cap)
        if with_rival:
            set_cap(folders["rival"], 1 - cap)
        return measure_shares(cpu, seconds, folders)["capped"]


def measure_work(cpu: int, with_rival: bool) -> float:
    """Milliseconds of the agent's CPU test in one group, a busy loop in another or not."""
    with open_groups(("work", "rival")) as folders, contextlib.ExitStack() as stack:
        if with_rival:
            pid = stack.enter_context(run_python(HOG, cpu))
            (folders["rival"] / "cgroup.procs").write_text(str(pid))
        child = subprocess.Popen(
            ["taskset", "-c", str(cpu), sys.executable, "-c", WORK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        (folders["work"] / "cgroup.procs").write_text(str(child.pid))
        answer, _ = child.communicate("\n", timeout=120)
        return float(answer)
