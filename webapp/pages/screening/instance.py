"""Context of an instance's page: distribution, stalls, causes and hosts."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from webapp.pages.screening import formatting as words
from webapp.pages.ui.charts.plot import Plot
from webapp.pages.ui.charts.svg import Axis, decade_ticks, round_ticks
from webapp.store.screening.views import CallView, CpuView, InstanceView, StallView

# Bars per octave of the drawing; the agent keeps eight times as many slots.
BARS_PER_OCTAVE = 8
MARK_MS = 10.0
# More stalls than this are drawn as counts per second.
MOST_DOTS = 250
HOST_FACTS = (
    ("name", "Name"),
    ("cpu_model", "CPU"),
    ("vcpus", "Virtual CPUs"),
    ("hypervisor", "Hypervisor"),
    ("clock_source", "Clock source"),
    ("kernel", "Kernel"),
    ("machine", "Architecture"),
    ("cgroup", "Control groups"),
    ("quota_cpus", "CPU quota"),
    ("python", "Python"),
)
_DOTS = {"steal": "before", "quota": "after", "run delay": "stall", "unexplained": "plain"}


def describe_instance(view: InstanceView, wanted_cpu: int) -> dict[str, Any]:
    """What the template takes."""
    cpu = _pick_cpu(view, wanted_cpu)
    summary = view.report.summary if view.report else {}
    calls = [call for call in view.calls if call.histogram]
    return {
        "view": view,
        "row": view.instance,
        "scheduler_slice_ms": _slice_ms(view.instance.p999_ms),
        "summary": summary,
        "cpu": cpu,
        "histogram": _draw_histogram(cpu.histogram, "sleeps", "length of a sleep") if cpu else None,
        "timeline": _draw_timeline(cpu, summary) if cpu else None,
        "causes": _list_causes(cpu, view.causes) if cpu else [],
        "facts": [(label, view.host.get(key)) for key, label in HOST_FACTS],
        "pressure": _list_pressure(view.pressure_us, summary),
        "call_plot": _draw_histogram(_merge(calls), "calls", "time of a call") if calls else None,
        "batteries": [(test.name, test.jitter, test.profile) for test in view.battery],
    }


def _slice_ms(p999_ms: float | None) -> str:
    """The time slice with a wait of this tail, within the range of the scheduler experiment."""
    return f"{min(max(p999_ms or 30.0, 1.0), 100.0):.3g}"


def _pick_cpu(view: InstanceView, wanted: int) -> CpuView | None:
    decided = view.report.summary.get("cpu") if view.report else None
    for number in (wanted, decided):
        for cpu in view.cpus:
            if cpu.cpu == number:
                return cpu
    return view.cpus[0] if view.cpus else None


def _merge(calls: Sequence[CallView]) -> list[tuple[float, float, int]]:
    found: Counter[tuple[float, float]] = Counter()
    for call in calls:
        for low, high, count in call.histogram:
            found[low, high] += count
    return [(low, high, count) for (low, high), count in sorted(found.items())]


def _draw_histogram(
    slots: Sequence[tuple[float, float, int]], what: str, label: str
) -> Plot | None:
    """Counts by duration, both axes logarithmic; what reaches 10 ms has another tone."""
    bars = _group(slots)
    if not bars:
        return None
    low, high = bars[0][0], max(bars[-1][1], MARK_MS * 1.5)
    most = max(count for _, _, count in bars)
    plot = Plot(
        f"{what.capitalize()} by length, both axes logarithmic",
        Axis(low, high, is_log=True),
        Axis(0.6, most * 1.5, is_log=True),
        f"{label}, ms (log axis)",
        f"{what} (log axis)",
    )
    plot.set_x_ticks((value, f"{value:g}") for value in decade_ticks(low, high))
    plot.set_y_ticks((value, f"{value:,.0f}") for value in decade_ticks(1, most * 1.5))
    total = sum(count for _, _, count in bars)
    seen = 0
    for left, right, count in bars:
        seen += count
        plot.add_bar(left, right, count, "bar plot__bar--late" if left >= MARK_MS else "bar")
        tip = f"{words.ms(left)} to {words.ms(right)}\n{count:,} {what}\n"
        plot.add_hover_column(
            left, right, tip + f"{words.points_of((total - seen) / total, total)} are longer"
        )
    plot.add_vertical_line(MARK_MS, "10 ms: a stall")
    return plot


def _group(slots: Sequence[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    counts: Counter[int] = Counter()
    for low_us, high_us, count in slots:
        middle = max((low_us + high_us) / 2, 0.001) / 1000
        # From the mark on, so that no bar holds both stalls and others.
        counts[math.floor(math.log2(middle / MARK_MS) * BARS_PER_OCTAVE)] += count
    width = 2 ** (1 / BARS_PER_OCTAVE)
    edges = ((MARK_MS * 2 ** (at / BARS_PER_OCTAVE), n) for at, n in sorted(counts.items()))
    return [(left, left * width, count) for left, count in edges if count]


def _draw_timeline(cpu: CpuView, summary: dict[str, Any]) -> Plot | None:
    """Every kept stall at its time, or how many each second saw."""
    if not cpu.stalls:
        return None
    seconds = float(cpu.figures.get("seconds") or summary.get("seconds") or 100)
    if len(cpu.stalls) > MOST_DOTS:
        return _draw_counts(cpu.stalls, seconds)
    longest = max(stall.length_ms for stall in cpu.stalls)
    ticks = round_ticks(0, longest * 1.15, 4)
    plot = Plot(
        f"{len(cpu.stalls)} stalls over {seconds:.0f} seconds",
        Axis(0, seconds),
        Axis(0, max(longest * 1.15, ticks[-1])),
        "seconds since the start",
        "stall, ms",
        size="s",
    )
    _mark_seconds(plot, seconds)
    plot.set_y_ticks((tick, f"{tick:g}") for tick in ticks)
    for stall in cpu.stalls:
        plot.add_line([(stall.at_s, 0), (stall.at_s, stall.length_ms)], "path")
        plot.add_dot(
            (stall.at_s, stall.length_ms), _DOTS.get(stall.cause, "stall"), _stall_hint(stall)
        )
    return plot


def _draw_counts(stalls: Sequence[StallView], seconds: float) -> Plot:
    counts = Counter(int(stall.at_s) for stall in stalls)
    most = max(counts.values())
    ticks = round_ticks(0, most * 1.1, 4)
    plot = Plot(
        f"Stalls per second over {seconds:.0f} seconds",
        Axis(0, seconds),
        Axis(0, max(most * 1.1, ticks[-1])),
        "seconds since the start",
        "stalls per second",
        size="s",
    )
    _mark_seconds(plot, seconds)
    plot.set_y_ticks((tick, f"{tick:g}") for tick in ticks)
    for at, count in sorted(counts.items()):
        plot.add_bar(at, at + 0.9, count, "bar plot__bar--late")
        plot.add_hover_column(at, at + 1, f"second {at}\n{count} stalls")
    return plot


def _mark_seconds(plot: Plot, seconds: float) -> None:
    plot.set_x_ticks((value, f"{value:g}") for value in round_ticks(0, seconds, 6))


def _stall_hint(stall: StallView) -> str:
    return (
        f"{words.ms(stall.length_ms)} at {stall.at_s:.2f} s: {words.cause_word(stall.cause)}\n"
        f"stolen {words.ms(stall.steal_ms)}, waited {words.ms(stall.run_delay_ms)}, "
        f"throttled {words.ms(stall.throttled_ms)}"
    )


def _list_causes(cpu: CpuView, meanings: dict[str, str]) -> list[dict[str, Any]]:
    whole = sum(entry["stalls"] for entry in cpu.causes.values())
    rows = sorted(cpu.causes.items(), key=lambda item: -item[1]["stalls"])
    return [
        {
            "cause": name,
            "meaning": meanings.get(name, ""),
            "share": entry["stalls"] / whole,
            "whole": whole,
            **entry,
        }
        for name, entry in rows
    ]


def _list_pressure(
    pressure_us: dict[str, dict[str, int]], summary: dict[str, Any]
) -> list[tuple[str, str, float]]:
    """(resource, some or full, share of the time) of pressure stall information."""
    span_us = float(summary.get("seconds") or 0) * 1e6
    if not span_us:
        return []
    return [
        (resource, kind, value / span_us)
        for resource, kinds in sorted(pressure_us.items())
        for kind, value in sorted(kinds.items())
    ]
