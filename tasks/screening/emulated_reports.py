"""Reports as agents send them, of machines with chosen faults."""

import random
from typing import Any

from screening.agent_parts.histograms import find_slot

# Stalls per second on the first virtual CPU, and which counter covers them.
KINDS = {
    "quiet": (0.03, ""),
    "none": (0.0, ""),
    "doubt": (0.35, ""),
    "unexplained": (1.0, ""),
    "steal": (1.6, "steal"),
    "quota": (3.0, "quota"),
    "load": (2.2, "load"),
}
# One in ten of the sleeps that fit, so that a report is small.
_SLEEPS_PER_S = 870
Report = dict[str, Any]


def build_report(
    name: str,
    kind: str,
    started: float,
    rng: random.Random,
    seconds: float = 100.0,
    cpus: int = 2,
    **host: str,
) -> Report:
    """A report of a machine of one of ``KINDS``, from ``started`` in seconds since 1970.

    ``host`` are further fields of the machine, such as its region.
    """
    return {
        "schema": "nephoscope.screening/1",
        "report_id": f"{rng.getrandbits(128):032x}",
        "agent_version": "1.0",
        "started_at": started,
        "sleep_us": 100,
        "seconds": seconds,
        "host": {
            "name": name,
            "cpu_model": "Example CPU at 2.5 GHz",
            "vcpus": cpus,
            "kernel": "6.1.0",
            "machine": "x86_64",
            "hypervisor": "KVM",
            "clock_source": "kvm-clock",
            "cgroup": 2,
            "quota_cpus": 1.5 if kind == "quota" else 0,
            "python": "3.11.2",
            **host,
        },
        "cpus": [_build_cpu(cpu, kind, seconds, rng) for cpu in range(cpus)],
        "pressure_us": {"cpu": {"some": 1_200_000, "full": 0}},
        "notes": [],
    }


def build_calls(
    caller: str, servers: list[str], bad: set[str], started: float, rng: random.Random
) -> Report:
    """A network test of ``caller``: calls to ``servers``, those of ``bad`` late now and then."""
    report = build_report(caller, "none", started, rng)
    rates = (100, 200, 500)
    rows = [_build_call(s, rate, s in bad, rng) for s in servers for rate in rates]
    return {**report, "cpus": [], "network": rows}


def _draw_stalls(kind: str, seconds: float, rng: random.Random) -> list[list[int]]:
    """Return start, length, delay, stolen and throttled time in us of each stall."""
    rate, cause = KINDS[kind]
    stalls, at = [], 0.0
    while rate and (at := at + rng.expovariate(rate)) < seconds:
        length = int(rng.uniform(10_200, 32_000))
        stalls.append(
            [
                int(at * 1e6),
                length,
                int(length * 0.95) if cause else 0,
                int(length * 0.8) if cause == "steal" else 0,
                int(length * 0.95) if cause == "quota" else 0,
            ]
        )
    return stalls


def _build_cpu(cpu: int, kind: str, seconds: float, rng: random.Random) -> Report:
    stalls = _draw_stalls(kind, seconds, rng) if cpu == 0 else []
    counts: dict[int, int] = {}
    each = max(1, int(_SLEEPS_PER_S * seconds) // 100)
    for _ in range(100):
        slot = find_slot(int(115_000 * rng.lognormvariate(0, 0.12)))
        counts[slot] = counts.get(slot, 0) + each
    for stall in stalls:
        slot = find_slot(stall[1] * 1000)
        counts[slot] = counts.get(slot, 0) + 1
    longest = float(max([stall[1] for stall in stalls] or [400]))
    total = sum(counts.values())
    return {
        "cpu": cpu,
        "mode": "native",
        "seconds": seconds,
        "wakeups": total,
        "stalls_10ms": len(stalls),
        "p50_us": 115.0,
        "p99_us": 150.0,
        "p999_us": min(longest, 12_000.0) if len(stalls) > total / 1000 else 150.0,
        "max_us": longest,
        "steal_ms": sum(s[3] for s in stalls) / 1000,
        "run_delay_ms": sum(s[2] for s in stalls) / 1000,
        "throttled_ms": sum(s[4] for s in stalls) / 1000,
        "busy_ms": 700.0 * seconds if kind == "load" else 8.0 * seconds,
        "own_ms": 9 * seconds,
        "own_share": 0.009,
        "pinned": True,
        "slack": True,
        "causes": {},
        "histogram": [list(pair) for pair in sorted(counts.items())],
        "stalls": stalls,
    }


def _build_call(server: str, rate: int, is_bad: bool, rng: random.Random) -> Report:
    calls = 12_000
    late = 60 if is_bad else 0
    counts: dict[int, int] = {}
    for at in range(300):
        times = late // 30 if at < 30 else 0
        slot = find_slot(int(rng.uniform(12e6, 30e6)))
        if times:
            counts[slot] = counts.get(slot, 0) + times
        slot = find_slot(int(550_000 * rng.lognormvariate(0, 0.2)))
        counts[slot] = counts.get(slot, 0) + (calls - late) // 300
    answered = sum(counts.values())
    return {
        "server": f"{server}:7777",
        "rate": rate,
        "seconds": calls / rate,
        "calls": answered,
        "answered": answered,
        "lost": 0,
        "late": 0,
        "over_10ms": late,
        "p50_us": 550.0,
        "p99_us": 900.0,
        "p999_us": 20_000.0 if is_bad else 1_200.0,
        "max_us": 31_000.0,
        "histogram": [list(pair) for pair in sorted(counts.items())],
    }
