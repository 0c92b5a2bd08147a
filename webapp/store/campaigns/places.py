"""Where vantage points of a campaign stand: those of this site, and those that only its files name.

Places that came with imported files are kept beside the lake's parts of their campaign.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from core.files import write_text
from webapp.store.campaigns import selectors
from webapp.store.campaigns.selectors import Spot
from webapp.store.models import Campaign

_FILE = "places.json"
_TEXTS = ("city", "country", "continent", "provider")


def save_places(found: Campaign, places: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep where vantage points of imported files stand."""
    if not places:
        return
    write_text(selectors.lake_root() / found.slug / _FILE, json.dumps(places))


def spots_of(found: Campaign, names: Iterable[str]) -> dict[str, Spot]:
    """Vantage points of a campaign by name, as far as this site or its files know them."""
    wanted = list(names)
    known = selectors.vantage_points(wanted)
    if len(known) == len(wanted):
        return known
    told = _read(found)
    return {n: known.get(n) or _spot(n, told[n]) for n in wanted if n in known or n in told}


def _read(found: Campaign) -> dict[str, Any]:
    try:
        return dict(json.loads((selectors.lake_root() / found.slug / _FILE).read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _spot(name: str, place: Mapping[str, Any]) -> Spot:
    texts = {key: str(place.get(key) or "") for key in _TEXTS}
    lat, lon = (place.get(key) for key in ("lat", "lon"))
    return Spot(name, **texts, lat=lat, lon=lon, asn=place.get("asn"), source="imported")
