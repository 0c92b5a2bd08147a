"""Attribute one CPU's stalls to a cause, with the kernel's counters as evidence."""

from dataclasses import dataclass

from screening.agent_parts.causes import CAUSES, find_cause
from screening.report.parsing import CpuTiming, Host

# A cause is the cause when it covers at least this share of the stalls.
MAJORITY = 0.5
# Busy time of others on the CPU from which run delay is no surprise.
LOADED = 0.5


@dataclass(frozen=True, slots=True)
class Attribution:
    """``cause`` is one of ``CAUSES``, ``mixed``, or empty when nothing stalled."""

    cause: str
    stalls: dict[str, int]
    stalled_ms: dict[str, float]
    sentences: tuple[str, ...]


def attribute(cpu: CpuTiming, host: Host) -> Attribution:
    """Cause of the stalls of one virtual CPU."""
    counts = dict.fromkeys(CAUSES, 0)
    lost_ms = dict.fromkeys(CAUSES, 0.0)
    for stall in cpu.stalls:
        cause = find_cause(stall)
        counts[cause] += 1
        lost_ms[cause] += stall.length_us / 1000
    if not cpu.stalls:
        return Attribution("", counts, lost_ms, ())
    most = max(counts, key=lambda name: counts[name])
    cause = most if counts[most] >= MAJORITY * len(cpu.stalls) else "mixed"
    seen = [name for name in CAUSES if counts[name]]
    lines = tuple(_explain(name, counts[name], lost_ms[name], cpu, host) for name in seen)
    return Attribution(cause, counts, lost_ms, lines)


def _explain(cause: str, count: int, lost_ms: float, cpu: CpuTiming, host: Host) -> str:
    stalls = "stall" if count == 1 else "stalls"
    head = f"{count} {stalls} ({lost_ms:.0f} ms): {CAUSES[cause]}"
    load = cpu.busy_ms / (1000 * cpu.seconds)
    evidence = {
        "quota": f"throttled for {cpu.throttled_ms:.0f} ms, quota {host.quota_cpus:g} CPUs",
        "steal": f"{cpu.steal_ms:.0f} ms stolen in {cpu.seconds:.0f} s",
        "run delay": f"waited {cpu.run_delay_ms:.0f} ms while ready, others used "
        f"{100 * load:.0f} % of the CPU" + (": own load" if load >= LOADED else ""),
        "unexplained": f"steal {cpu.steal_ms:.0f} ms, run delay {cpu.run_delay_ms:.0f} ms"
        + (f", under {host.hypervisor}" if host.hypervisor else ""),
    }
    return f"{head}; {evidence[cause]}"
