"""Compute a report's figures from the tallies, and Algorithm 1's verdict with its reasons."""

from __future__ import annotations

import math
from typing import Any

from screening.agent_parts.causes import CAUSES, count_causes
from screening.agent_parts.histograms import find_percentile_us
from screening.agent_parts.kernel import CpuTicks
from screening.agent_parts.sampling import Tally

# Bobtail's marks, in stalls of 10 ms or more per 100 s.
LOW_PER_100S = 13.0
HIGH_PER_100S = 65.0
# A shorter run is too little evidence for a mark of 13 in 100 s.
ENOUGH_S = 30.0
DOUBT = 0.05
# Maximum number of stalls with details in the report; every stall is counted in the histogram.
STALLS_KEPT = 20_000

GOOD, NETWORK_TEST, BAD, UNKNOWN = "good", "network-test", "bad", "not-enough"


def describe_cpu(
    tally: Tally, before: CpuTicks | None, after: CpuTicks | None, throttled_us: int, kept: int
) -> dict[str, Any]:
    """The report's entry of one virtual CPU."""
    zero = CpuTicks(0, 0)
    first, last = before or zero, after or zero
    busy, steal = last.busy_ms - first.busy_ms, last.steal_ms - first.steal_ms
    elapsed_s = tally.elapsed_ns / 1e9
    return {
        "cpu": tally.cpu,
        "mode": tally.mode,
        "seconds": round(elapsed_s, 3),
        "wakeups": tally.wakeups,
        "stalls_10ms": len(tally.stalls),
        "p50_us": find_percentile_us(tally.histogram, 0.5, tally.max_ns),
        "p99_us": find_percentile_us(tally.histogram, 0.99, tally.max_ns),
        "p999_us": find_percentile_us(tally.histogram, 0.999, tally.max_ns),
        "max_us": round(tally.max_ns / 1000, 3),
        "steal_ms": max(steal, 0),
        "run_delay_ms": round(tally.run_delay_ns / 1e6, 3),
        "throttled_ms": round(throttled_us / 1000, 3),
        "busy_ms": max(round(busy - tally.cpu_ns / 1e6, 3), 0),
        "own_ms": round(tally.cpu_ns / 1e6, 3),
        "own_share": round(tally.cpu_ns / max(tally.elapsed_ns, 1), 5),
        "pinned": tally.pinned,
        "slack": tally.slack,
        "causes": count_causes(tally.stalls),
        "histogram": sorted(map(list, tally.histogram.items())),
        "stalls": [list(stall) for stall in tally.stalls[:kept]],
    }


def place(stalls: int, seconds: float, low: float, high: float) -> str:
    """Algorithm 1 for a run of any length, with marks per 100 s.

    In 100 s it is the paper's. A shorter run is only called good when HIGH would have shown more
    stalls, and bad when LOW would have shown fewer, with 95 % confidence.
    """
    scale = seconds / 100
    if stalls <= low * scale:
        return GOOD if find_chance_upto(stalls, high * scale) <= DOUBT else UNKNOWN
    if stalls <= high * scale:
        return NETWORK_TEST
    return BAD if 1 - find_chance_upto(stalls - 1, low * scale) <= DOUBT else UNKNOWN


def find_chance_upto(count: int, mean: float) -> float:
    """Probability of at most ``count`` events where ``mean`` are expected (Poisson)."""
    term = total = math.exp(-mean)
    for number in range(1, count + 1):
        term *= mean / number
        total += term
    return min(total, 1.0)


def find_rate(cpu: dict[str, Any]) -> float:
    """Stalls per 100 s of one CPU's entry."""
    return float(100 * cpu["stalls_10ms"] / cpu["seconds"])


def classify_cpus(cpus: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Verdict by the worst virtual CPU, and why: a server's tail is made there."""
    if not cpus:
        return UNKNOWN, ["no virtual CPU was measured"]
    worst = max(cpus, key=find_rate)
    rate = find_rate(worst)
    verdict = place(worst["stalls_10ms"], worst["seconds"], LOW_PER_100S, HIGH_PER_100S)
    reasons = [
        f"cpu {worst['cpu']}: {worst['stalls_10ms']} stalls of 10 ms or more in "
        f"{worst['seconds']:.0f} s, {rate:.1f} per 100 s "
        f"(good up to {LOW_PER_100S:g}, bad over {HIGH_PER_100S:g})"
    ]
    for cause, found in worst["causes"].items():
        reasons.append(f"{found['stalls']} of them: {cause} ({CAUSES[cause]})")
    if worst["seconds"] < ENOUGH_S:
        reasons.append(f"only {worst['seconds']:.0f} s were measured: 100 s say more")
    return verdict, reasons
