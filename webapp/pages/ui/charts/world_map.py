"""A world map as plain SVG, which needs no script.

Equal Earth (Šavrič, Patterson and Jenny, 2018): areas are true. Arcs join the ends of measured
paths, for the selection only; they do not show the route between them.
"""

import json
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from core.paths import PROJECT
from webapp.pages.ui.charts.svg import Point, line_path

WIDTH = 1000.0
WORLD = PROJECT / "webapp" / "pages" / "static" / "vendor" / "world" / "world-110m.json"
_A = (1.340264, -0.081106, 0.000893, 0.003796)
_M = math.sqrt(3) / 2
_HALF_WIDTH, _TOP_LAT, _BOTTOM_LAT = 2.7066299836960748, 80.0, -57.0
# Points of the coast nearer than this are one, where a map asks for no other distance.
_LEAST_STEP = 0.8
# Height of an arc's control point as a share of its length, and the highest that an arc may reach.
_BEND, _ARC_TOP = 0.24, 4.0
# Beyond so many vantage points each is a dot and no link, and arcs are drawn for these many.
MAX_LINKS = 300
# (name, x, y, width, height) of parts of the map that can be looked at.
VIEWS = {
    "world": ("The world", 60.0, -9.0, 920.0, 414.0),
    "america": ("The Americas", 120.0, 20.0, 300.0, 340.0),
    "europe": ("Europe", 440.0, 8.0, 200.0, 110.0),
    "asia": ("Asia and Pacific", 610.0, 60.0, 360.0, 330.0),
}


def _height(angle: float) -> float:
    square = angle * angle
    sixth = square**3
    return angle * (_A[0] + _A[1] * square + sixth * (_A[2] + _A[3] * square))


def _raw(lat: float, lon: float) -> Point:
    angle = math.asin(_M * math.sin(math.radians(lat)))
    square = angle * angle
    slope = _A[0] + 3 * _A[1] * square + square**3 * (7 * _A[2] + 9 * _A[3] * square)
    return math.radians(lon) * math.cos(angle) / (_M * slope), _height(angle)


_TOP, _BOTTOM = _raw(_TOP_LAT, 0)[1], _raw(_BOTTOM_LAT, 0)[1]


def project(lat: float, lon: float) -> Point:
    """Where a place lies on the map."""
    x, y = _raw(lat, lon)
    across = (x / _HALF_WIDTH + 1) / 2 * WIDTH
    return round(across, 1), round((_TOP - y) * WIDTH / (2 * _HALF_WIDTH), 1)


@lru_cache(maxsize=2)
def land(least_step: float = _LEAST_STEP) -> str:
    """The path of all land; empty where the map's file was not installed.

    Points of the coast nearer than ``least_step`` units are one.
    """
    try:
        world = json.loads(WORLD.read_text(encoding="utf-8"))
    except OSError:
        return ""
    kept = [f for f in world["features"] if (f["properties"] or {}).get("name") != "Antarctica"]
    return "".join(_ring(ring, least_step) for f in kept for ring in _rings(f["geometry"]))


def _rings(geometry: dict[str, Any]) -> Iterable[Sequence[Sequence[float]]]:
    shapes = geometry["coordinates"]
    for shape in shapes if geometry["type"] == "MultiPolygon" else [shapes]:
        yield from shape


def _ring(ring: Sequence[Sequence[float]], least_step: float) -> str:
    points: list[Point] = []
    for lon, lat in ring:
        point = project(lat, lon)
        if not points or math.dist(point, points[-1]) >= least_step:
            points.append(point)
    if len(points) < 3:
        return ""
    # A coarse coast is written in halves of a unit, which is finer than its points are apart.
    grid = 0.1 if least_step < 2 else 0.5
    x, y = points[0]
    steps = [f"M{x:g} {y:g}l"]
    for nx, ny in points[1:]:
        dx, dy = _round(nx - x, grid), _round(ny - y, grid)
        steps.append(f"{dx:g} {dy:g} ")
        # Rounded steps must not add up.
        x, y = round(x + dx, 1), round(y + dy, 1)
    return "".join(steps).rstrip() + "z"


def _round(value: float, grid: float) -> float:
    return round(round(value / grid) * grid, 1)


@lru_cache(maxsize=1)
def graticule() -> str:
    """Meridians and parallels, thirty degrees apart."""
    lines = [[project(lat, lon) for lat in range(-57, 81, 4)] for lon in range(-180, 181, 30)]
    lines += [[project(lat, -180), project(lat, 180)] for lat in (-30, 0, 30, 60)]
    return "".join(map(line_path, lines))


@lru_cache(maxsize=1)
def sphere() -> str:
    """The edge of the world as it is projected."""
    side = [project(lat, 180) for lat in range(90, -61, -3)]
    edge = [*side, *((WIDTH - x, y) for x, y in reversed(side))]
    return line_path(edge) + "z"


def arc(start: Point, end: Point) -> str:
    """One curve between two places (latitude, longitude), bent towards the north.

    Great circles would leave the map at its upper edge and at the antimeridian. The curve is drawn
    on the map itself, and is bent less where it would leave it. Empty for a single place.
    """
    (x, y), (to_x, to_y) = project(*start), project(*end)
    across, down = to_x - x, to_y - y
    if not across and not down:
        return ""
    side = _BEND if across >= 0 else -_BEND
    middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
    # The extreme of a quadratic curve with ends a and b touches c where it is bent towards
    # c - sqrt((a - c)(b - c)).
    top = min(_ARC_TOP, y, to_y)
    bent_x = max(middle_x + side * down, -math.sqrt(x * to_x))
    bent_x = min(bent_x, WIDTH + math.sqrt((WIDTH - x) * (WIDTH - to_x)))
    bent_y = max(middle_y - side * across, top - math.sqrt((y - top) * (to_y - top)))
    return f"M{x:g} {y:g}Q{bent_x:.1f} {bent_y:.1f} {to_x:g} {to_y:g}"


def view_box(view: str) -> str:
    """The part of the map that is looked at."""
    _, x, y, width, height = VIEWS.get(view, VIEWS["world"])
    return f"{x:g} {y:g} {width:g} {height:g}"


def mark_scale(view: str) -> float:
    """How large marks have to be drawn, so that they keep their size when the map is nearer."""
    return round(VIEWS.get(view, VIEWS["world"])[3] / WIDTH, 3)
