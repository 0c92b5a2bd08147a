"""Data of the service map: regions, client locations and which region serves each.

For the present deployment, the recommended set, and that set with failed regions.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from webapp.pages.ui import formatting
from webapp.store.ranges.region_places import place_name

Part = Mapping[str, Any]


def map_data(
    inputs: Part,
    chosen: Part | None,
    before: Part | None,
    failed: Collection[str] = (),
    unit: str = "",
) -> dict[str, Any]:
    """What the map draws; ``failed`` are names of regions that do not answer."""
    places = {place["region"]: place for place in inputs.get("places", ()) if place["at"]}
    after = chosen["regions"] if chosen else ()
    now = before["regions"] if before else ()
    spots = inputs.get("spots", ())
    return {
        "regions": [_region(p, after, now, failed, chosen) for p in places.values()],
        "spots": [
            {
                "at": spot["at"],
                "country": spot["country"],
                "clients": spot["clients"],
                "weight": spot["weight"],
                "now": _server(before, number),
                "then": _server(chosen, number),
                "failed": _server(chosen, number, failed) if failed else None,
            }
            for number, spot in enumerate(spots)
        ],
        "failed": sorted(failed),
        "has_now": before is not None,
        "unit": unit,
    }


def _region(
    place: Part,
    after: Sequence[str],
    now: Sequence[str],
    failed: Collection[str],
    chosen: Part | None,
) -> dict[str, Any]:
    name = place["region"]
    return {
        "name": name,
        "code": name.rpartition("/")[2],
        "place": place_name(name, place["provider"] or ""),
        "provider": place["provider"] or "none",
        "provider_name": formatting.provider_name(place["provider"]),
        "letter": formatting.provider_letter(place["provider"]),
        "at": place["at"],
        "then": name in after,
        "now": name in now,
        "failed": name in failed,
        "share": (chosen or {}).get("shares", {}).get(name, 0.0),
    }


def _server(part: Part | None, spot: int, failed: Collection[str] = ()) -> list[Any] | None:
    """Name and value of the region that serves a spot; nothing where none does."""
    if part is None or spot >= len(part.get("serves", ())):
        return None
    for number, value in part["serves"][spot]:
        name = part["regions"][int(number)]
        if name not in failed:
            return [name, value]
    return None


def served_by(inputs: Part, part: Part | None, failed: Collection[str] = ()) -> dict[str, str]:
    """The region that serves most of each country's weight."""
    weights: dict[str, dict[str, float]] = {}
    for number, spot in enumerate(inputs.get("spots", ())):
        server = _server(part, number, failed)
        if server and spot["country"]:
            own = weights.setdefault(spot["country"], {})
            own[server[0]] = own.get(server[0], 0.0) + spot["weight"]
    return {country: max(own, key=lambda name: own[name]) for country, own in weights.items()}
