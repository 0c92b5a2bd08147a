"""Locations of a campaign's vantage points, from the store or from its imported files.

Locations of imported files are stored beside the campaign's lake parts.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from webapp.store.campaigns import selectors
from webapp.store.campaigns.selectors import VantagePlace
from webapp.store.models import Campaign
from webapp.store.object_storage import files

_FILE = "places.json"
_TEXTS = ("city", "country", "continent", "provider")


def save_places(found: Campaign, places: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the locations of vantage points of imported files."""
    if not places:
        return
    files.write(selectors.lake_root() / found.slug / _FILE, json.dumps(places).encode())


def vantage_places(found: Campaign, names: Iterable[str]) -> dict[str, VantagePlace]:
    """Return the known locations of vantage points by name."""
    wanted = list(names)
    known = selectors.vantage_points(wanted)
    if len(known) == len(wanted):
        return known
    imported = _read(found)
    return {
        n: known.get(n) or _place(n, imported[n]) for n in wanted if n in known or n in imported
    }


def _read(found: Campaign) -> dict[str, Any]:
    path = selectors.lake_root() / found.slug / _FILE
    files.fetch(path)
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _place(name: str, place: Mapping[str, Any]) -> VantagePlace:
    texts = {key: str(place.get(key) or "") for key in _TEXTS}
    lat, lon = (place.get(key) for key in ("lat", "lon"))
    return VantagePlace(name, **texts, lat=lat, lon=lon, asn=place.get("asn"), source="imported")
