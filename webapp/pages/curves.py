"""Recommended sets go in; the geometry of the curve over their sizes comes out, for plain SVG."""

from typing import Any

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 22, 34
# Gridlines at most.
MOST_LINES = 5


def curve_of(
    results: list[dict[str, Any]], chosen: int, current: float | None = None
) -> dict[str, Any] | None:
    """Points with intervals, gridlines and ticks; None below two points."""
    rows = [row for row in results if row["value"] is not None]
    if len(rows) < 2:
        return None
    tops = [(row["interval"] or [0, row["value"]])[1] for row in rows]
    highest = max(*tops, *(row.get("published") or 0.0 for row in rows), current or 0.0)
    step = _step(highest)
    sizes = [row["k"] for row in rows]

    def x(k: int) -> float:
        part = (k - sizes[0]) / (sizes[-1] - sizes[0])
        return round(LEFT + 14 + part * (WIDTH - LEFT - RIGHT - 28), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / (highest or 1) * (HEIGHT - BOTTOM - TOP), 1)

    points = [
        {
            "k": row["k"],
            "x": x(row["k"]),
            "hit": round(x(row["k"]) - 16, 1),
            "y": y(row["value"]),
            "value": row["value"],
            "low": y((row["interval"] or [row["value"]])[0]),
            "high": y((row["interval"] or [row["value"]])[-1]),
            "published": y(row["published"]) if row.get("published") else None,
            "is_chosen": row["k"] == chosen,
        }
        for row in rows
    ]
    lines = [{"y": y(step * n), "value": step * n} for n in range(int(highest / step) + 1)]
    return {
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT,
        "base": HEIGHT - BOTTOM, "points": points, "lines": lines,
        "path": " ".join(f"{p['x']},{p['y']}" for p in points),
        "band": _band(points),
        "current": None if current is None else {"y": y(current), "value": current},
    }  # fmt: skip


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
