"""Recommended sets go in; the geometry of the curve over their sizes comes out, for plain SVG."""

from dataclasses import dataclass
from math import ceil
from typing import Any

WIDTH, HEIGHT = 420, 256
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 28, 34
# Between the axis and the outermost dots; and half the width in which a dot is hit.
ROOM, HIT = 14, 16
# Gridlines at most.
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Plane:
    """Where sizes from ``first`` to ``last`` and values from nothing to ``highest`` are drawn."""

    first: int
    last: int
    highest: float

    def x(self, k: int) -> float:
        """Across, with room for the dots at both ends."""
        part = (k - self.first) / (self.last - self.first)
        return round(LEFT + ROOM + part * (WIDTH - LEFT - RIGHT - 2 * ROOM), 1)

    def y(self, value: float) -> float:
        """Down from the top."""
        return round(HEIGHT - BOTTOM - value / (self.highest or 1) * (HEIGHT - BOTTOM - TOP), 1)


def curve_of(
    results: list[dict[str, Any]], chosen: int, current: float | None = None
) -> dict[str, Any] | None:
    """Points with intervals, gridlines and ticks; None below two points."""
    rows = [row for row in results if row["value"] is not None]
    if len(rows) < 2:
        return None
    tops = [(row["interval"] or [0, row["value"]])[1] for row in rows]
    before = [row.get("published") or 0.0 for row in rows]
    highest = max(*tops, *before, current or 0.0)
    step = _step(highest)
    # The plane ends at a gridline, so that no figure stands above the last number of the axis.
    ticks = [step * n for n in range(ceil(highest / step) + 1)]
    plane = Plane(rows[0]["k"], rows[-1]["k"], ticks[-1])
    points = [_point(row, plane, chosen) for row in rows]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "base": HEIGHT - BOTTOM,
        "points": points,
        "lines": [{"y": plane.y(value), "value": value} for value in ticks],
        "path": " ".join(f"{p['x']},{p['y']}" for p in points),
        "band": _band(points),
        "current": None if current is None else {"y": plane.y(current), "value": current},
    }


def _point(row: dict[str, Any], plane: Plane, chosen: int) -> dict[str, Any]:
    x, interval = plane.x(row["k"]), row["interval"] or [row["value"]]
    before = row.get("published")
    return {
        "k": row["k"],
        "x": x,
        "hit": round(x - HIT, 1),
        "y": plane.y(row["value"]),
        "value": row["value"],
        "low": plane.y(interval[0]),
        "high": plane.y(interval[-1]),
        "published": plane.y(before) if before else None,
        "is_chosen": row["k"] == chosen,
    }


def _band(points: list[dict[str, Any]]) -> str:
    """The outline of all intervals, there and back."""
    there = [f"{p['x']},{p['low']}" for p in points]
    back = [f"{p['x']},{p['high']}" for p in reversed(points)]
    return " ".join(there + back)


def _step(highest: float) -> float:
    """A round distance of gridlines."""
    step = 1e-6
    while True:
        for factor in (1, 2, 5):
            if highest / (step * factor) <= MOST_LINES:
                return step * factor
        step *= 10
