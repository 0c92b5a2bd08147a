"""The map of the front page as SVG: regions as circles that are links, with labels that keep apart.

Sizes are in units of the map, which is 1,000 units wide. On phones a unit is about 0.5 px wide and
text is drawn larger, so that only the labels that keep apart there as well are shown.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.pages.ui import formatting
from webapp.pages.ui.charts import world_map

Box = tuple[float, float, float, float]
_LARGEST, _SMALLEST, _DOT = 36.0, 3.0, 5.4
# Centres of two dots are at least so far apart.
_APART = 12.0
# A coast that is drawn small needs fewer points, which are half of the page.
_COAST_STEP = 2.2
_MARGIN_X, _MARGIN_Y = 78.0, 34.0
# The shape of the panel on a wide screen, width by height; and the width of a map of one region.
_ASPECT, _NARROWEST = 1.6, 420.0
# Height of a line of text on wide screens and on phones; a letter is about 0.58 of it wide.
_TEXT, _PHONE_TEXT, _LETTER = 10.0, 21.0, 0.58


@dataclass(slots=True)
class _Circle:
    """A region with the place and size of its circle."""

    region: dict[str, Any]
    x: float
    y: float
    radius: float
    # The place, with the provider where several have a region there.
    name: str


def draw(
    regions: Sequence[dict[str, Any]], failed: str, href: Callable[[str], str]
) -> dict[str, Any]:
    """The map of regions as ``selectors.map_regions`` gives them, each with its ``outage``.

    ``failed`` is the key of the region that is drawn as failed, or empty; ``href`` gives the
    address of a key's outage.
    """
    circles = _place_circles(regions)
    box = _view_box(circles)
    labels = _place_labels(circles, failed, (box[0], box[0] + box[2]))
    marks = [_mark(circle, labels[i], failed, href) for i, circle in enumerate(circles)]
    return {
        "box": " ".join(f"{value:.0f}" for value in box),
        "land": world_map.land(_COAST_STEP),
        "graticule": world_map.graticule(),
        "marks": marks,
    }


def key_of(region: dict[str, Any]) -> str:
    """``aws.us-east-1``."""
    return f"{region['provider']}.{region['region']}"


def _place_circles(regions: Sequence[dict[str, Any]]) -> list[_Circle]:
    """Circles by area, the largest first; small ones are moved apart."""
    known = [r for r in regions if r["latitude"] is not None and r["subdomains"]]
    known.sort(key=lambda r: -r["subdomains"])
    at_place = Counter(r["place"] for r in known)
    circles: list[_Circle] = []
    for region in known:
        radius = max(_SMALLEST, _LARGEST * math.sqrt(region["subdomains"] / known[0]["subdomains"]))
        x, y = _free_place(*world_map.project(region["latitude"], region["longitude"]), circles)
        name = region["place"]
        if at_place[name] > 1:
            name += f" ({formatting.provider_name(region['provider'])})"
        circles.append(_Circle(region, x, y, round(radius, 1), name))
    return circles


def _free_place(x: float, y: float, taken: Sequence[_Circle]) -> tuple[float, float]:
    """The nearest place around a point for a dot that covers no other."""
    for distance in (0.0, _APART, 1.6 * _APART, 2.2 * _APART):
        for step in range(8):
            angle = math.pi * (step / 4 + 0.25)
            there = x + distance * math.cos(angle), y + distance * math.sin(angle)
            if all(math.dist(there, (s.x, s.y)) >= _APART - 0.1 for s in taken):
                return round(there[0], 1), round(there[1], 1)
    return x, y


def _view_box(circles: Sequence[_Circle]) -> Box:
    """``x, y, width, height`` of what holds every circle, in the shape of the panel."""
    if not circles:
        return world_map.VIEWS["world"][1:]
    left, right = min(s.x for s in circles) - _MARGIN_X, max(s.x for s in circles) + _MARGIN_X
    top, bottom = min(s.y for s in circles) - _MARGIN_Y, max(s.y for s in circles) + _MARGIN_Y
    width = max(right - left, _NARROWEST)
    height = max(bottom - top, width / _ASPECT)
    top = max(-10.0, (top + bottom - height) / 2)
    return (left + right - width) / 2, top, width, height


def _words(circle: _Circle, failed: str) -> tuple[str, str]:
    """The two lines of a label."""
    region = circle.region
    if key_of(region) == failed:
        down = formatting.count(region["outage"]["down"])
        return f"{circle.name} is down", f"{down} names unreachable"
    return circle.name, formatting.count(region["subdomains"])


def _place_labels(
    circles: Sequence[_Circle], failed: str, edges: tuple[float, float]
) -> list[dict[str, Any] | None]:
    """Greedy: the failed region first, then the largest; ``None`` where there is no space.

    ``edges`` are the left and right ends of the map, which labels on phones keep within.
    """
    order = sorted(range(len(circles)), key=lambda i: (key_of(circles[i].region) != failed, i))
    dots = [(s.x - _DOT, s.y - _DOT, s.x + _DOT, s.y + _DOT) for s in circles]
    taken: list[Box] = []
    taken_on_phones: list[Box] = []
    found: list[dict[str, Any] | None] = [None] * len(circles)
    for i in order:
        lines = _words(circles[i], failed)
        others = [*taken, *(box for j, box in enumerate(dots) if j != i)]
        label = _free_label(circles[i], lines, others)
        if label is None:
            continue
        taken.append(label.pop("box"))
        on_phone = _text_box(label["x"], label["y"], label["anchor"], lines, _PHONE_TEXT)
        is_inside = edges[0] <= on_phone[0] and on_phone[2] <= edges[1]
        label["is_lead"] = is_inside and not any(_overlap(on_phone, b) for b in taken_on_phones)
        if label["is_lead"]:
            taken_on_phones.append(on_phone)
        found[i] = label
    return found


def _free_label(circle: _Circle, lines: tuple[str, str], taken: list[Box]) -> dict[str, Any] | None:
    reach = max(circle.radius, _DOT) + 4
    candidates = (
        (circle.x + reach, circle.y, "start"),
        (circle.x - reach, circle.y, "end"),
        (circle.x, circle.y + reach + _TEXT, "middle"),
        (circle.x, circle.y - reach - _TEXT, "middle"),
    )
    for x, y, anchor in candidates:
        box = _text_box(x, y, anchor, lines, _TEXT)
        if not any(_overlap(box, other) for other in taken):
            return {
                "x": round(x, 1),
                "y": round(y, 1),
                "anchor": anchor,
                "lines": lines,
                "box": box,
            }
    return None


def _text_box(x: float, y: float, anchor: str, lines: tuple[str, str], size: float) -> Box:
    """What two lines around ``y`` cover."""
    width = max(map(len, lines)) * size * _LETTER
    left = {"start": x, "end": x - width, "middle": x - width / 2}[anchor]
    return left, y - 1.1 * size, left + width, y + 1.2 * size


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _mark(
    circle: _Circle, label: dict[str, Any] | None, failed: str, href: Callable[[str], str]
) -> dict[str, Any]:
    region, key = circle.region, key_of(circle.region)
    name, is_down = formatting.provider_name(region["provider"]), key == failed
    what = f"{name} {region['region']}, {region['place']}"
    count = formatting.count(region["subdomains"])
    return {
        "key": key,
        "provider": region["provider"],
        "letter": formatting.provider_letter(region["provider"]),
        "x": circle.x,
        "y": circle.y,
        "radius": circle.radius,
        "room": max(circle.radius, 10.0),
        "dot": _DOT,
        "is_down": is_down,
        "label": label,
        "href": href("" if is_down else key),
        "title": f"{what}: restore it"
        if is_down
        else f"{what}: {count} subdomains. Show what fails with it",
    }
