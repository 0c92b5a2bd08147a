"""Charts of a pair over time: means and losses by round, and means by hour of the day."""

from collections.abc import Iterable
from typing import Any

from webapp.pages.campaigns.frame import Frame, round_start
from webapp.pages.ui import formatting
from webapp.pages.ui.charts.svg import Axis, area_path, column, consecutive_runs, line_path

Row = dict[str, Any]
WIDTH, HEIGHT = 1080.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 14.0, 30.0
LOSS_PX = 56.0
# The bars of hours of the day: the base line, the highest bar and the distance, in pixels.
_HOUR_BASE, _HOUR_PX, _HOUR_STEP = 60.0, 56.0, 14
# More days than this are thinned out, so that their labels do not touch.
_MAX_DAYS = 16


def round_means(rows: list[Row]) -> Row | None:
    """Return the chart of round means, within the band from the least value to the 95th percentile.

    ``rows`` have ``round``, ``n``, ``mean``, ``min`` and ``p95``. ``None`` below two rounds with
    values: the figures above the chart hold everything then.
    """
    answered = [r for r in rows if r["n"]]
    if len(answered) < 2:
        return None
    # The axis ends near the 98th percentile: few slow values must not flatten all others.
    highest = sorted(r["p95"] for r in answered)[int(0.98 * (len(answered) - 1))] * 1.15
    x, y = _round_axis(rows), Axis(0, highest or 1, HEIGHT - BOTTOM, TOP)
    beyond = [{"x": x.at(r["round"]), "value": r["p95"]} for r in answered if r["p95"] > highest]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "base": HEIGHT - BOTTOM,
        "top": TOP,
        **_lines(answered, x, y),
        "gaps": _gaps(x, (r["round"] for r in rows if not r["n"])),
        "lines": [{"y": y.at(v), "value": v} for v in y.ticks()],
        "x": x,
        "beyond": beyond,
        "highest": max((b["value"] for b in beyond), default=None),
    }


def _round_axis(rows: list[Row]) -> Axis:
    first, last = (pick(r["round"] for r in rows) for pick in (min, max))
    return Axis(first, max(first + 1, last), LEFT, WIDTH - RIGHT)


def _lines(answered: list[Row], x: Axis, y: Axis) -> Row:
    """Return ``path`` and ``band``, interrupted where rounds have no value."""
    by_round = {int(r["round"]): r for r in answered}
    path = band = ""
    for run in consecutive_runs(sorted(by_round)):
        mean, low, high = (
            [(x.at(n), y.at(by_round[n][key])) for n in run] for key in ("mean", "min", "p95")
        )
        # A line from a point to itself is drawn as a dot.
        path += line_path(mean if len(mean) > 1 else mean * 2)
        band += area_path(low, high)
    return {"path": path, "band": band}


def _gaps(x: Axis, silent: Iterable[int]) -> list[Row]:
    """Return the spans of rounds without any value."""
    spans = [
        (x.at(run[0] - 0.5), x.at(run[-1] + 0.5), len(run))
        for run in consecutive_runs(sorted(silent))
    ]
    return [
        {"x": start, "width": max(2.0, round(end - start, 1)), "rounds": n}
        for start, end, n in spans
    ]


def losses(rows: list[Row]) -> Row | None:
    """Return bars of the share lost in each round, as wide as the chart of means."""
    if len(rows) < 2:
        return None
    x = _round_axis(rows)
    lossy = {r["round"]: r for r in rows if r["lost"] and r["sent"]}
    shares = {n: r["lost"] / r["sent"] for n, r in lossy.items()}
    texts = {n: formatting.share_of(share, lossy[n]["sent"]) for n, share in shares.items()}
    worst = max(shares, key=lambda n: shares[n], default=None)
    y = Axis(0.0, shares.get(worst, 1.0), LOSS_PX, 0.0)
    width = max(1.5, (x.end - x.start) / (x.high - x.low + 1) * 0.8)
    return {
        "bars": [
            {
                "x": round(x.at(n) - width / 2, 1),
                "width": round(width, 1),
                "text": texts[n],
                "round": n,
                **column(y, share),
            }
            for n, share in sorted(shares.items())
        ],
        "most": texts.get(worst),
        "rounds": len(rows),
        "height": LOSS_PX,
        "start": x.start,
        "end": x.end,
    }


def day_ticks(frame: Frame, rows: list[Row], chart: Row | None) -> list[Row]:
    """Return the first round of each day (UTC); empty without a chart or a start."""
    if chart is None:
        return []
    ticks: list[Row] = []
    for number in range(int(chart["x"].low), int(chart["x"].high) + 1):
        moment = round_start(frame.row, number)
        if moment is None:
            return []
        if not ticks or ticks[-1]["day"] != moment.date():
            ticks.append({"x": chart["x"].at(number), "day": moment.date()})
    return ticks if len(ticks) < _MAX_DAYS else ticks[:: len(ticks) // (_MAX_DAYS // 2)]


def hourly_means(frame: Frame, rows: list[Row]) -> list[Row]:
    """Return the mean of each hour of the day (UTC); empty where rounds do not cover a day."""
    found: dict[int, list[float]] = {}
    for row in rows:
        moment = round_start(frame.row, row["round"])
        if moment and row["mean"] is not None:
            found.setdefault(moment.hour, []).append(row["mean"])
    if len(found) < 24:
        return []
    means = {hour: sum(v) / len(v) for hour, v in found.items()}
    y = Axis(0.0, max(means.values()) or 1, _HOUR_BASE, _HOUR_BASE - _HOUR_PX)
    return [
        {
            "hour": h,
            "mean": means[h],
            "n": len(found[h]),
            "x": h * _HOUR_STEP,
            **column(y, means[h]),
        }
        for h in range(24)
    ]
