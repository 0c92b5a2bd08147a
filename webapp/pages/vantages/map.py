"""Marks of vantage points on the world map. Selection and view are in the URL."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from webapp.pages.ui.charts import world_map as drawing
from webapp.pages.ui.links import with_query
from webapp.pages.vantages import formatting as vantage_formatting
from webapp.store.models import VantagePoint
from webapp.store.vantages.documents import health_of

_SIZES = {"dot": 5.0, "room": 12.0, "small": 2.2}


def draw(request: HttpRequest, points: Sequence[VantagePoint], chosen: str) -> dict[str, Any]:
    """The map of some vantage points."""
    asked = request.GET.get("view", "world")
    view = asked if asked in drawing.VIEWS else "world"
    unit = drawing.mark_scale(view)
    placed = [p for p in points if p.lat is not None and p.lon is not None]
    return {
        "land": drawing.land(),
        "graticule": drawing.graticule(),
        "box": drawing.view_box(view),
        "sizes": {k: round(v * unit, 2) for k, v in _SIZES.items()},
        "views": [
            (title, with_query(request, view="" if key == "world" else key) + "#map", key == view)
            for key, (title, *_) in drawing.VIEWS.items()
        ],
        # The chosen one last, so that no other covers it.
        "dots": [_dot(request, p, chosen) for p in sorted(placed, key=lambda p: p.name == chosen)],
        "unplaced": len(points) - len(placed),
        "is_crowded": len(placed) > drawing.MAX_LINKS,
        "clear": with_query(request, point="") + "#map",
    }


def _dot(request: HttpRequest, point: VantagePoint, chosen: str) -> dict[str, Any]:
    x, y = drawing.project(point.lat or 0.0, point.lon or 0.0)
    health = health_of(point)
    is_chosen = point.name == chosen
    return {
        "x": x,
        "y": y,
        "health": vantage_formatting.mark(point, health),
        "name": point.name,
        "is_chosen": is_chosen,
        "title": f"{point.name}, {vantage_formatting.place(point)}: "
        f"{vantage_formatting.health(point, health).lower()}",
        "href": with_query(request, point="" if is_chosen else point.name) + "#map",
    }
