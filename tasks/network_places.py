"""Probes of public networks become vantage points; what measuring with them may cost is told."""

from typing import Any

from django.utils.text import slugify

from core.clock import Clock
from core.errors import BadInput
from probes.sources import atlas, globalping
from tasks.public_networks import NETWORKS, api_of
from webapp.store.models import VantagePoint

MOST_PLACES = 500


def find_places(source: str, country: str = "", clock: Clock | None = None) -> list[dict[str, Any]]:
    """Where a network has probes now; raises ``BadInput`` and as the network's client."""
    if source not in NETWORKS:
        raise BadInput(
            f"{source!r} is no public network; use {', '.join(NETWORKS)}", field="network"
        )
    api = api_of(source, clock)
    if source == "atlas":
        return atlas.places(api, country, MOST_PLACES)
    found = globalping.places(api)
    return [p for p in found if not country or p["country"] == country.upper()]


def enlist(
    source: str, count: int, country: str = "", owner: Any = None, clock: Clock | None = None
) -> list[VantagePoint]:
    """Vantage points at so many places, spread over countries; those that stand are kept."""
    places = _spread(find_places(source, country, clock), min(max(count, 1), MOST_PLACES))
    if not places:
        raise BadInput("the network has no probe there now", field="country")
    points = []
    for place in places:
        values = {k: place.get(k) for k in ("country", "lat", "lon", "asn")}
        values |= {"city": place.get("city") or "", "continent": place.get("continent") or ""}
        values |= {"provider": place.get("network") or "", "source": source, "owner": owner}
        detail = {"probe": place["probe"]} if source == "atlas" else {}
        values |= {"detail": detail, "state": VantagePoint.State.JOINED}
        point, _ = VantagePoint.objects.get_or_create(name=_name(source, place), defaults=values)
        points.append(point)
    return points


def _name(source: str, place: dict[str, Any]) -> str:
    if source == "atlas":
        return f"atlas-{place['probe']}"
    return slugify(f"globalping-{place['country']}-{place['city']}-{place['asn']}")[:63]


def _spread(places: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """One place per country in turn, as far as there are any."""
    by_country: dict[str, list[dict[str, Any]]] = {}
    for place in places:
        by_country.setdefault(place["country"], []).append(place)
    found: list[dict[str, Any]] = []
    turn = 0
    while len(found) < min(count, len(places)):
        found += [own[turn] for own in by_country.values() if turn < len(own)]
        turn += 1
    return found[:count]


def credits(source: str, clock: Clock | None = None) -> dict[str, Any]:
    """What may be spent now; raises as the network's client."""
    if source == "atlas":
        told = atlas.balance(api_of("atlas", clock))
        return {"network": "atlas", "credits": told.credits, "spent_a_day": told.spent_a_day}
    limits = globalping.limits(api_of("globalping", clock))
    return {
        "network": "globalping", "free": limits.free, "free_limit": limits.free_limit,
        "reset_s": limits.reset_s, "credits": limits.credits,
    }  # fmt: skip
