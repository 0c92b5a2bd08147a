"""Plots of calibration errors and percentiles."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.wording import SMALL
from webapp.pages.screening import formatting as words
from webapp.pages.ui.charts.plot import Plot
from webapp.pages.ui.charts.svg import Axis, decade_ticks, round_ticks
from webapp.pages.ui.formatting import THIN

SHOWN_NINES = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
# Classes of lines, in the order of use.
KINDS = ("chosen", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def draw_error_rates(found: Mapping[str, Any], mark: float, tried: float | None = None) -> Plot:
    """Errors by threshold: what a higher mark lets through beside what it saves."""
    points = found["points"]
    last = max(point["low"] for point in points)
    is_few = min(found["good"], found["bad"]) < SMALL
    plot = Plot(
        "Errors by the threshold up to which an instance is called good",
        Axis(0, last),
        Axis(0, 1),
        "LOW: stalls per 100 s up to which an instance is good",
        "share of the bad, or of the good",
        size="m",
    )
    plot.set_x_ticks((value, f"{value:g}") for value in round_ticks(0, last, 10))
    ticks = [(value / 100, f"{value}{THIN}%") for value in range(0, 101, 20)]
    plot.set_y_ticks([(0, "none"), (1, "all")] if is_few else ticks)
    _add_errors(plot, points)
    plot.add_vertical_line(mark, f"LOW = {mark:g}")
    if tried is not None and tried != mark:
        plot.add_vertical_line(tried, f"best on these: {tried:g}", "plot__rule--second")
    half = (points[1]["low"] - points[0]["low"]) / 2 if len(points) > 1 else 0.5
    for point in points:
        plot.add_hover_column(
            point["low"] - half,
            point["low"] + half,
            _error_hint(point, found["good"], found["bad"]),
        )
    return plot


def _add_errors(plot: Plot, points: Sequence[dict[str, Any]]) -> None:
    for name, kind in (("false_positive", "second"), ("false_negative", "chosen")):
        spans = [point[f"{name}_interval"] for point in points]
        lower = [(p["low"], low) for p, (low, _) in zip(points, spans, strict=True)]
        upper = [(p["low"], high) for p, (_, high) in zip(points, spans, strict=True)]
        plot.add_band(lower, upper, "band plot__band--second" if kind == "second" else "band")
        plot.add_line([(p["low"], p[name]) for p in points], f"path plot__path--{kind}")
    effective = [(p["low"], p["effective_false_negative"]) for p in points]
    plot.add_line(effective, "path plot__path--third")
    end = points[-1]
    plot.label_ends(
        [
            (end["false_positive"], "second", "false positives"),
            (end["false_negative"], "chosen", "false negatives"),
            (end["effective_false_negative"], "other", "lost"),
        ]
    )


def _error_hint(point: dict[str, Any], good: int, bad: int) -> str:
    span = words.points_span(point["false_positive_interval"], bad)
    return "\n".join(
        (
            f"LOW = {point['low']:g}",
            f"bad, called good: {words.points_of(point['false_positive'], bad)} of the bad "
            f"({span})",
            f"good, not recognised: {words.points_of(point['false_negative'], good)} of the good",
            "lost even after a network test: "
            f"{words.points_of(point['effective_false_negative'], good)}",
        )
    )


def draw_percentiles(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]], unit: str
) -> Plot:
    """Values by percentile, both axes logarithmic: the tail is where the difference lies."""
    every = [value for _, points in series for _, value in points if value > 0]
    low, high = (min(every), max(every)) if every else (0.1, 10)
    low /= 1.3
    most = max((share for _, points in series for share, _ in points), default=0.9)
    end = max(most, 0.99)
    plot = Plot(
        "Values by percentile",
        Axis(1, 1 / (1 - end), is_log=True),
        Axis(low, high * 1.3, is_log=True),
        "percentile (log axis of what lies beyond)",
        f"{unit} (log axis)",
        size="m",
    )
    shown = [share for share in SHOWN_NINES if share <= end + 1e-12]
    plot.set_x_ticks((1 / (1 - share), words.p_word(share) if share else "p0") for share in shown)
    plot.set_y_ticks((value, f"{value:g}") for value in decade_ticks(low, high * 1.3))
    for at, (_, points) in enumerate(series):
        kind = f" plot__path--{KINDS[at]}" if at < len(KINDS) else ""
        plot.add_steps([(1 / (1 - s), v) for s, v in points if v > 0], "path" + kind)
    _add_percentile_hints(plot, series, unit)
    return plot


def list_keys(series: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
    """(kind of line, name) of every curve, for the key below a drawing of several."""
    return [(kind, name) for kind, (name, _) in zip(KINDS, series, strict=False)]


def _add_percentile_hints(
    plot: Plot, series: Sequence[tuple[str, Sequence[tuple[float, float]]]], unit: str
) -> None:
    longest = max((points for _, points in series), key=len, default=())
    shares = [share for share, _ in longest]
    for at, share in enumerate(shares):
        left = 1 / (1 - share)
        right = 1 / (1 - shares[at + 1]) if at + 1 < len(shares) else plot.x.high
        lines = [words.p_word(round(share, 7))]
        lines += [
            f"{name}: {points[at][1]:,.4g} {unit}" for name, points in series if at < len(points)
        ]
        plot.add_hover_column(left, right, "\n".join(lines))
