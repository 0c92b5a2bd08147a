"""Samplers' tallies in, the report's figures and Algorithm 1's verdict with its reasons out."""

from __future__ import annotations

from typing import Any

from screening.onboard.causes import CAUSES, count_causes
from screening.onboard.histograms import find_percentile_us
from screening.onboard.kernel import CpuTicks
from screening.onboard.sampling import Tally

# Bobtail's marks, in stalls of 10 ms or more per 100 s.
LOW_PER_100S = 13.0
HIGH_PER_100S = 65.0
# A run that is shorter says too little about a mark of 13 in 100 s.
ENOUGH_S = 30.0
# Stalls whose details travel; every stall is counted in the histogram.
STALLS_KEPT = 20_000

GOOD, NETWORK_TEST, BAD, UNKNOWN = "good", "network-test", "bad", "not-enough"


def describe_cpu(
    tally: Tally, before: CpuTicks | None, after: CpuTicks | None, throttled_us: int, kept: int
) -> dict[str, Any]:
    """The report's entry of one virtual CPU."""
    zero = CpuTicks(0, 0)
    busy, steal = (b - a for a, b in zip(before or zero, after or zero))  # noqa: B905 - Python 3.8
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


def find_rate(cpu: dict[str, Any]) -> float:
    """Stalls per 100 s of one CPU's entry."""
    return float(100 * cpu["stalls_10ms"] / cpu["seconds"])


def judge(cpus: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Verdict by the worst virtual CPU, and why: a server's tail is made there."""
    if not cpus:
        return UNKNOWN, ["no virtual CPU was measured"]
    worst = max(cpus, key=find_rate)
    rate = find_rate(worst)
    verdict = GOOD if rate <= LOW_PER_100S else NETWORK_TEST if rate <= HIGH_PER_100S else BAD
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
