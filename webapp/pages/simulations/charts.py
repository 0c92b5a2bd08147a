"""Charts of runs as shapes of SVG: bars beside published values, and the wiring of a topology."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webapp.pages.simulations.formatting import number

# Units of a drawing of a topology; the page stretches it.
WIDTH = 640.0
_DRAWING_HEIGHT, _MARGIN = 360.0, 24.0


@dataclass(frozen=True, slots=True)
class _Shape:
    """The layout of a bar chart, in units of its drawing.

    ``left`` is where bars start and ``text_room`` is kept for the values to their right; labels
    are beside the bars, or ``above`` them.
    """

    name: str
    width: float
    left: float
    text_room: float
    row_height: float
    above: float = 0.0


# The page shows the tall one on phones.
_SHAPES = (_Shape("wide", 720.0, 270.0, 190.0, 46.0), _Shape("tall", 340.0, 0.0, 160.0, 62.0, 18.0))


def draw(chart: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the template draws; ``kind`` chooses the partial template.

    Bars have one scale with those of ``beside``, the chart of another run with the same title.
    """
    return _draw_bars(chart, beside) if chart["kind"] == "bars" else _draw_topology(chart)


def _draw_bars(chart: Mapping[str, Any], beside: Mapping[str, Any] | None) -> dict[str, Any]:
    rows = [row for row in chart["rows"] if row["value"] is not None]
    others = [row for row in beside["rows"] if row["value"] is not None] if beside else []
    values = [v for row in (*rows, *others) for v in _values(row)]
    is_logarithmic = bool(chart.get("is_logarithmic"))
    return {
        **{key: chart[key] for key in ("kind", "title", "unit")},
        "shapes": [
            {
                "name": shape.name,
                "width": shape.width,
                "height": shape.row_height * len(rows),
                "left": shape.left,
                "above": shape.above,
                "bars": _bars(rows, chart["unit"], shape, _scale(values, is_logarithmic, shape)),
            }
            for shape in _SHAPES
        ],
        "is_logarithmic": is_logarithmic,
        "has_published": any(row.get("published") is not None for row in rows),
    }


def _bars(
    rows: list[Mapping[str, Any]], unit: str, shape: _Shape, scale: Callable[[float], float]
) -> list[dict[str, Any]]:
    bars = []
    for i, row in enumerate(rows):
        published, interval = row.get("published"), row.get("interval")
        text = f"{number(row['value'])} {unit}".strip()
        if published is not None:
            text += f" (published {number(published)})"
        bars.append(
            {
                "y": i * shape.row_height,
                "label": row["label"],
                "width": scale(row["value"]),
                "published": None if published is None else scale(published),
                "low": shape.left + scale(interval[0]) if interval else None,
                "high": shape.left + scale(interval[1]) if interval else None,
                "text": text,
                "text_x": shape.left + max(scale(v) for v in _values(row)) + 8,
            }
        )
    return bars


def _values(row: Mapping[str, Any]) -> list[float]:
    found = [row["value"], row.get("published"), *(row.get("interval") or ())]
    return [v for v in found if v is not None]


def _scale(values: list[float], is_logarithmic: bool, shape: _Shape) -> Callable[[float], float]:
    """The length of a bar by its value; a logarithmic one starts at half of the least."""
    room = shape.width - shape.left - shape.text_room
    most = max([v for v in values if v > 0], default=1.0)
    if not is_logarithmic:
        return lambda value: round(room * max(value, 0.0) / most, 2)
    least = min(v for v in values if v > 0) / 2
    span = math.log(most / least)
    return lambda value: round(room * max(math.log(max(value, least) / least), 0.0) / span, 2)


def _draw_topology(chart: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of switches by level above their hosts; a topology of one level as a circle."""
    n_hosts, levels = chart["n_hosts"], chart["levels"]
    places = _ring(chart) if max(levels) == 0 else _rows(chart)
    lines = [
        (*places[a], *places[b])
        for a, b in (*chart["host_links"], *chart["links"])
        if a in places and b in places
    ]
    nodes = [
        {"x": x, "y": y, "is_host": node < n_hosts, "level": _level(node, n_hosts, levels)}
        for node, (x, y) in places.items()
    ]
    return {
        "kind": "topology",
        "title": chart["title"],
        "width": WIDTH,
        "height": _DRAWING_HEIGHT,
        "lines": lines,
        "nodes": nodes,
        "level_names": chart["level_names"],
        "n_hosts": n_hosts,
        "n_switches": len(levels),
    }


def _level(node: int, n_hosts: int, levels: list[int]) -> int:
    return -1 if node < n_hosts else levels[node - n_hosts]


def _rows(chart: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    n_hosts, levels = chart["n_hosts"], chart["levels"]
    top = max(levels) + 1
    rows: dict[int, list[int]] = {-1: list(range(n_hosts))}
    for i, level in enumerate(levels):
        rows.setdefault(level, []).append(n_hosts + i)
    step = (_DRAWING_HEIGHT - 2 * _MARGIN) / top
    return {
        node: (
            round(_MARGIN + (WIDTH - 2 * _MARGIN) * (i + 0.5) / len(row), 1),
            round(_DRAWING_HEIGHT - _MARGIN - (level + 1) * step, 1),
        )
        for level, row in rows.items()
        for i, node in enumerate(row)
    }


def _ring(chart: Mapping[str, Any]) -> dict[int, tuple[float, float]]:
    n_hosts, n = chart["n_hosts"], len(chart["levels"])
    radius, middle = _DRAWING_HEIGHT / 2 - _MARGIN, (WIDTH / 2, _DRAWING_HEIGHT / 2)
    return {
        n_hosts + i: (
            round(middle[0] + radius * math.cos(2 * math.pi * i / n), 1),
            round(middle[1] + radius * math.sin(2 * math.pi * i / n), 1),
        )
        for i in range(n)
    }
