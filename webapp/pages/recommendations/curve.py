"""The curve of a recommendation's value over the number of regions, as plain SVG."""

from math import ceil
from typing import Any

from webapp.pages.ui.charts.svg import Axis, area_path, line_path, round_step

WIDTH, HEIGHT = 420, 256
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 28, 34
# Between the axis and the outermost dots; and half the width in which a dot is hit.
MARGIN, HIT = 14, 16
MAX_STEPS = 5


def draw_curve(
    results: list[dict[str, Any]], chosen: int, current: float | None = None
) -> dict[str, Any] | None:
    """Return points with intervals, gridlines and ticks; ``None`` below two points."""
    rows = [row for row in results if row["value"] is not None]
    if len(rows) < 2:
        return None
    tops = [(row["interval"] or [0, row["value"]])[1] for row in rows]
    before = [row.get("published") or 0.0 for row in rows]
    highest = max(*tops, *before, current or 0.0)
    step = round_step(highest, MAX_STEPS)
    # The axis ends at a gridline, so that no figure is above its last number.
    ticks = [step * n for n in range(ceil(highest / step - 1e-9) + 1)]
    x = Axis(rows[0]["k"], rows[-1]["k"], LEFT + MARGIN, WIDTH - RIGHT - MARGIN)
    y = Axis(0.0, ticks[-1] or 1.0, HEIGHT - BOTTOM, TOP)
    points = [_point(row, x, y, chosen) for row in rows]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "base": HEIGHT - BOTTOM,
        "points": points,
        "lines": [{"y": y.at(value), "value": value} for value in ticks],
        "path": line_path([(p["x"], p["y"]) for p in points]),
        "band": area_path(*([(p["x"], p[end]) for p in points] for end in ("low", "high"))),
        "current": None if current is None else {"y": y.at(current), "value": current},
    }


def _point(row: dict[str, Any], x: Axis, y: Axis, chosen: int) -> dict[str, Any]:
    at, interval = x.at(row["k"]), row["interval"] or [row["value"]]
    published = row.get("published")
    return {
        "k": row["k"],
        "x": at,
        "hit": round(at - HIT, 1),
        "y": y.at(row["value"]),
        "value": row["value"],
        "low": y.at(interval[0]),
        "high": y.at(interval[-1]),
        "published": y.at(published) if published else None,
        "is_chosen": row["k"] == chosen,
    }
