"""Plots of the pay-off: over the share of bad nodes, and over K."""

from typing import Any

from tasks.screening import payoff
from webapp.pages.screening import formatting as words
from webapp.pages.ui.charts.plot import Plot
from webapp.pages.ui.charts.svg import Axis, round_ticks
from webapp.pages.ui.formatting import THIN

LEVELS = {1: "sequential", 10: "ten", 20: "twenty", 40: "forty"}


def draw_shares(found: dict[str, Any], question: payoff.Question) -> list[Plot]:
    """Completion time by share of bad nodes, one drawing per percentile, one line per model."""
    return [_draw_percentile(found, question, percentile) for percentile in payoff.PERCENTILES]


def _draw_percentile(found: dict[str, Any], question: payoff.Question, percentile: float) -> Plot:
    curves = [curve for curve in found["curves"] if curve["percentile"] == percentile]
    highest = max(y for curve in curves for _, y in curve["points"])
    ticks = round_ticks(0, highest * 1.05, 5)
    name = words.p_word(percentile)
    plot = Plot(
        f"{name} of completion times by share of bad nodes; the table below holds the figures",
        Axis(0, payoff.SHARES[-1]),
        Axis(0, max(highest * 1.05, ticks[-1])),
        "share of bad nodes",
        f"{name}, ms",
    )
    plot.set_x_ticks((tick / 100, f"{tick}{THIN}%") for tick in range(0, 51, 10))
    plot.set_y_ticks((tick, f"{tick:g}") for tick in ticks)
    for curve in sorted(curves, key=lambda curve: bool(curve["fan_out"] == question.fan_out)):
        chosen = curve["fan_out"] == question.fan_out
        plot.add_line(curve["points"], "path plot__path--chosen" if chosen else "path")
    plot.label_ends(
        [
            (
                curve["points"][-1][1],
                "chosen" if curve["fan_out"] == question.fan_out else "other",
                "in turn" if curve["fan_out"] == 1 else f"of {curve['fan_out']}",
            )
            for curve in curves
        ]
    )
    _add_hints(plot, curves, question)
    _add_ends(plot, found, question, percentile)
    return plot


def _add_hints(plot: Plot, curves: list[dict[str, Any]], question: payoff.Question) -> None:
    for at, share in enumerate(payoff.SHARES):
        lines = [f"{100 * share:.0f}{THIN}% bad"]
        lines += [
            f"{words.shape_word(curve['fan_out'], question.calls)}: "
            f"{words.ms(curve['points'][at][1])}"
            for curve in curves
        ]
        plot.add_hover_column(max(0.0, share - 0.005), min(0.5, share + 0.005), "\n".join(lines))


def _add_ends(
    plot: Plot, found: dict[str, Any], question: payoff.Question, percentile: float
) -> None:
    for gain in found["gains"]:
        if (gain["fan_out"], gain["percentile"]) != (question.fan_out, percentile):
            continue
        for when, share in (("before", found["bad_before"]), ("after", found["bad_after"])):
            value = gain[f"{when}_ms"]
            tip = (
                f"{when}: {words.ms(value)}\n{words.ms(gain[f'{when}_low_ms'])} to "
                f"{words.ms(gain[f'{when}_high_ms'])} by which nodes one gets"
            )
            plot.add_dot((share, value), when, tip, f"{when} {words.ms(value)}")


def draw_factors(found: dict[str, Any], question: payoff.Question) -> Plot:
    """p99 and p99.9 of the chosen model by how many instances are launched per kept one."""
    rows = found["by_k"]
    highest = max(max(row["p99_ms"], row["p999_ms"]) for row in rows)
    ticks = round_ticks(0, highest * 1.05, 5)
    shape = words.shape_word(question.fan_out, question.calls)
    plot = Plot(
        f"Completion time ({shape}) by launches per kept instance",
        Axis(1, payoff.FACTORS[-1]),
        Axis(0, max(highest * 1.05, ticks[-1])),
        "K: instances launched per kept one",
        f"{shape}, ms",
        size="s",
    )
    plot.set_x_ticks((k, f"{k}") for k in range(1, 6))
    plot.set_y_ticks((tick, f"{tick:g}") for tick in ticks)
    plot.add_line([(row["k"], row["p999_ms"]) for row in rows], "path plot__path--second")
    plot.add_line([(row["k"], row["p99_ms"]) for row in rows], "path plot__path--chosen")
    last = rows[-1]
    plot.label_ends([(last["p99_ms"], "chosen", "p99"), (last["p999_ms"], "second", "p99.9")])
    if question.k <= payoff.FACTORS[-1]:
        plot.add_vertical_line(question.k, f"K = {question.k:g}")
    for row in rows:
        tip = (
            f"K = {row['k']:g}: {100 * row['bad_share']:.1f}{THIN}% bad are kept\n"
            f"p99 {words.ms(row['p99_ms'])}, p99.9 {words.ms(row['p999_ms'])}\n"
            f"costs {words.money(row['cost'])} once"
        )
        plot.add_hover_column(max(1.0, row["k"] - 0.125), min(5.0, row["k"] + 0.125), tip)
    return plot
