"""Plots of persistence and of stalls by time of day."""

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.pages.screening import formatting as words
from webapp.pages.ui.charts.plot import Plot
from webapp.pages.ui.charts.svg import Axis, decade_ticks, round_ticks
from webapp.pages.ui.formatting import THIN

DAY_MINUTES = 1440
MARKED_HOURS = (12, 24)


def draw_persistence(distribution: Sequence[Sequence[float]]) -> Plot | None:
    """Share of machine time in periods without change, by their length."""
    points = [(max(hours, 1 / 60), share) for hours, share in distribution]
    if not points:
        return None
    longest = max(hours for hours, _ in points)
    low, high = min(hours for hours, _ in points) / 1.5, max(longest * 1.5, 1.0)
    plot = Plot(
        "Share of machine time in periods of one status up to a length",
        Axis(low, high, is_log=True),
        Axis(0, 1),
        "length of the period, hours (log axis)",
        "share of machine time",
        size="s",
    )
    plot.set_x_ticks((value, f"{value:g}") for value in decade_ticks(low, high))
    plot.set_y_ticks((value / 100, f"{value}{THIN}%") for value in range(0, 101, 25))
    ordered = _raise_to_longest(points)
    plot.add_steps([(low, 0.0), *ordered, (high, ordered[-1][1])], "path plot__path--chosen")
    for marked in MARKED_HOURS:
        if low < marked < high:
            plot.add_vertical_line(marked, f"{marked} h")
    for at, (hours, share) in enumerate(ordered):
        right = ordered[at + 1][0] if at + 1 < len(ordered) else high
        tip = f"up to {hours:,.1f} h\n{words.points(share)} of machine time"
        plot.add_hover_column(hours, right, tip)
    return plot


def _raise_to_longest(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Periods that span everything come last, also where others were as long."""
    risen, longest = [], 0.0
    for hours, share in points:
        longest = max(longest, hours)
        risen.append((longest, share))
    return risen


def draw_time_of_day(counts: Mapping[int, int], nights: Mapping[str, Any]) -> Plot | None:
    """Stalls by time of the day, and the window in which they return."""
    if not counts:
        return None
    most = max(counts.values())
    ticks = round_ticks(0, most * 1.1, 4)
    plot = Plot(
        "Stalls by time of the day, UTC",
        Axis(0, DAY_MINUTES),
        Axis(0, max(most * 1.1, ticks[-1])),
        "time of the day, UTC",
        "stalls",
        size="s",
    )
    plot.set_x_ticks((hour * 60, f"{hour:02d}:00") for hour in range(0, 25, 6))
    plot.set_y_ticks((tick, f"{tick:,.0f}") for tick in ticks)
    width = 10.0
    for minute, count in sorted(counts.items()):
        late = nights.get("found") and _is_inside(minute, nights)
        plot.add_bar(minute, minute + width, count, "bar plot__bar--late" if late else "bar")
        clock = f"{minute // 60:02d}:{minute % 60:02d}"
        plot.add_hover_column(minute, minute + width, f"{clock} UTC\n{count:,} stalls")
    return plot


def _is_inside(minute: int, nights: Mapping[str, Any]) -> bool:
    start, end = nights["start_minute"], nights["end_minute"]
    return start <= minute < end if start < end else minute >= start or minute < end
