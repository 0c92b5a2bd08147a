"""Attribute each stall to a cause, from the kernel's counters during it.

A quota outranks run delay, because a task that its quota stops is also counted as waiting.
"""

from __future__ import annotations

from typing import NamedTuple

STALL_US = 10_000
# /proc/stat counts steal in ticks of 10 ms, so a stall of 18 ms may show only one.
STEAL_TICK_US = 10_000

CAUSES = {
    "quota": "the CPU quota of the own control group",
    "run delay": "other work inside this machine on the same CPU",
    "steal": "the hypervisor, which gave the CPU to a neighbour",
    "unexplained": "nothing that this kernel counts, on a virtual machine mostly the hypervisor",
}


class Stall(NamedTuple):
    """One sleep of 10 ms or more; ``at_us`` counts from the start to its end."""

    at_us: int
    length_us: int
    run_delay_us: int = 0
    steal_us: int = 0
    throttled_us: int = 0


def find_cause(stall: Stall) -> str:
    """The counter that covers at least half of a stall, else ``unexplained``."""
    half_us = stall.length_us / 2
    if stall.throttled_us >= half_us:
        return "quota"
    if stall.steal_us >= min(half_us, STEAL_TICK_US) and stall.steal_us >= stall.run_delay_us / 2:
        return "steal"
    if stall.run_delay_us >= half_us:
        return "run delay"
    return "unexplained"


def count_causes(stalls: list[Stall]) -> dict[str, dict[str, float]]:
    """Number and milliseconds of stalls per cause, most stalls first."""
    found: dict[str, dict[str, float]] = {}
    for stall in stalls:
        entry = found.setdefault(find_cause(stall), {"stalls": 0, "ms": 0.0})
        entry["stalls"] += 1
        entry["ms"] = round(entry["ms"] + stall.length_us / 1000, 3)
    return dict(sorted(found.items(), key=lambda item: -item[1]["stalls"]))
