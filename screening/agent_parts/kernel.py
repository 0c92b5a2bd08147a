"""Read the Linux kernel's counters of lost time: steal, run delay, quota, pressure.

Every reader gives zero or nothing where a file is missing, because containers hide many of them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

TICK_MS = 10
if hasattr(os, "sysconf"):
    TICK_MS = 1000 // (os.sysconf("SC_CLK_TCK") or 100)


class CpuTicks(NamedTuple):
    """Time of one virtual CPU since boot, in milliseconds."""

    busy_ms: int
    steal_ms: int


class Quota(NamedTuple):
    """The control group with the quota of this process, if any."""

    version: int
    path: str
    stat: str
    limit: float  # in CPUs; 0 is not a limit


class Throttling(NamedTuple):
    """How often and how long a control group was stopped by its quota."""

    periods: int
    throttled: int
    throttled_us: int


def read_text(path: str) -> str:
    """Text of a small kernel file, empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_cpu_ticks() -> dict[int, CpuTicks]:
    """Busy and stolen time per virtual CPU from /proc/stat."""
    ticks = {}
    for line in read_text("/proc/stat").splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu") or words[0] == "cpu":
            continue
        times = [int(word) * TICK_MS for word in words[1:9]] + [0] * 8
        busy = times[0] + times[1] + times[2] + times[5] + times[6]
        ticks[int(words[0][3:])] = CpuTicks(busy, times[7])
    return ticks


def read_run_delay_ns() -> int:
    """Time that this process was ready to run and waited for its CPU."""
    words = read_text("/proc/self/schedstat").split()
    return int(words[1]) if len(words) > 1 else 0


def read_pressure_us(resource: str) -> dict[str, int]:
    """Totals of pressure stall information, such as ``{"some": 1200}``."""
    totals = {}
    for line in read_text("/proc/pressure/" + resource).splitlines():
        words = line.split()
        for word in words[1:]:
            if word.startswith("total="):
                totals[words[0]] = int(word[6:])
    return totals


def read_throttling(stat: str) -> Throttling:
    """Counters of cpu.stat; names and units differ between versions 1 and 2."""
    values = {}
    for line in read_text(stat).splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            values[words[0]] = int(words[1])
    throttled_us = values.get("throttled_usec", values.get("throttled_time", 0) // 1000)
    return Throttling(values.get("nr_periods", 0), values.get("nr_throttled", 0), throttled_us)


def find_quota() -> Quota | None:
    """The nearest control group upwards that has a CPU quota, else the process's own."""
    groups = list(_list_groups())
    return next((group for group in groups if group.limit), groups[0] if groups else None)


def _list_groups() -> list[Quota]:
    mounts = _find_cpu_mounts()
    groups = []
    for line in read_text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        version = 1 if "cpu" in controllers.split(",") else 2 if not controllers else 0
        if version in mounts:
            groups += _list_ancestor_quotas(version, mounts[version], path)
    return groups


def _find_cpu_mounts() -> dict[int, str]:
    mounts = {}
    for line in read_text("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        place, kind, options = left.split()[4], right.split()[0], right.split()[-1]
        if kind == "cgroup2":
            mounts[2] = place
        elif kind == "cgroup" and "cpu" in options.split(","):
            mounts[1] = place
    return mounts


def _list_ancestor_quotas(version: int, mount: str, path: str) -> list[Quota]:
    groups = []
    while True:
        folder = mount + path.rstrip("/")
        stat = folder + "/cpu.stat"
        if Path(stat).exists():
            groups.append(Quota(version, path, stat, _read_limit(version, folder)))
        if path in ("", "/"):
            return groups
        path = str(Path(path).parent)


def _read_limit(version: int, folder: str) -> float:
    if version == 2:
        words = read_text(folder + "/cpu.max").split()
        return int(words[0]) / int(words[1]) if words and words[0] != "max" else 0.0
    quota = read_text(folder + "/cpu.cfs_quota_us").strip()
    period = read_text(folder + "/cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota and period and int(quota) > 0 else 0.0


def read_wall_clock() -> float:
    """Seconds since the epoch, UTC."""
    return time.clock_gettime(time.CLOCK_REALTIME)
