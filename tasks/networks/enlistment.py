"""Enlist probes of public networks as vantage points, with the cost of measuring."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from core.clock import Clock
from core.errors import BadInput, Conflict
from probes.networks import globalping, ripe_atlas
from tasks.networks.celery_tasks import NETWORKS, api_of
from webapp.store.models import VantagePoint
from webapp.store.vantages import services

MOST_PLACES = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which probes of a network are looked for; an empty field leaves it open."""

    network: str
    country: str = ""
    city: str = ""
    asn: int = 0
    count: int = 20


def check(wanted: Wanted) -> None:
    """Raises ``BadInput`` for what no network could have."""
    if wanted.network not in NETWORKS:
        raise BadInput(
            f"{wanted.network!r} is not a public network; use {', '.join(NETWORKS)}",
            field="network",
        )
    if wanted.country and not re.fullmatch("[A-Za-z]{2}", wanted.country):
        raise BadInput(f"{wanted.country!r} is not a country of two letters", field="country")
    if wanted.city and wanted.network == "atlas":
        raise BadInput("RIPE Atlas tells no cities; name a country or a network", field="city")
    if not 0 <= wanted.asn < 2**32:
        raise BadInput(f"{wanted.asn} is not a number of a network", field="asn")
    if not 1 <= wanted.count <= MOST_PLACES:
        raise BadInput(f"{wanted.count} is not from 1 to {MOST_PLACES}", field="count")


def find_places(wanted: Wanted, clock: Clock | None = None) -> list[dict[str, Any]]:
    """Where a network has such probes now; raises ``BadInput`` and as the network's client."""
    check(wanted)
    api = api_of(wanted.network, clock)
    if wanted.network == "atlas":
        return ripe_atlas.places(api, wanted.country, MOST_PLACES, wanted.asn)
    return [p for p in globalping.places(api) if _is_wanted(p, wanted)]


def _is_wanted(place: Mapping[str, Any], wanted: Wanted) -> bool:
    return (
        place["country"] == (wanted.country.upper() or place["country"])
        and place["city"].casefold() == (wanted.city.casefold() or place["city"].casefold())
        and place["asn"] == (wanted.asn or place["asn"])
    )


def enlist(wanted: Wanted, clock: Clock | None = None) -> list[VantagePoint]:
    """Vantage points at so many places, spread over countries; raises as ``find_places``."""
    return create_points(wanted.network, spread(find_places(wanted, clock), wanted.count))


def create_points(source: str, places: Sequence[Mapping[str, Any]]) -> list[VantagePoint]:
    """Vantage points at these places; those that stand are kept, those let go take work again."""
    if not places:
        raise Conflict("the network has no probe there now", field="country")
    return [_point(source, place) for place in places]


def _point(source: str, place: Mapping[str, Any]) -> VantagePoint:
    joined = VantagePoint.State.JOINED
    values = {k: place.get(k) for k in ("country", "lat", "lon", "asn")}
    values |= {"city": place.get("city") or "", "continent": place.get("continent") or ""}
    values |= {"provider": place.get("network") or "", "source": source, "state": joined}
    values |= {"detail": {"probe": place["probe"]} if source == "atlas" else {}}
    point, is_new = VantagePoint.objects.get_or_create(name=name_of(source, place), defaults=values)
    if not is_new and point.state != joined:
        point.state = joined
        point.save(update_fields=["state"])
    return point


def release(point: VantagePoint) -> None:
    """No campaign may choose it any more, until it is enlisted again; raises ``BadInput``."""
    if point.source not in NETWORKS:
        raise BadInput(f"{point.name} is not a place of a public network")
    services.set_state(point, VantagePoint.State.REVOKED)


def name_of(source: str, place: Mapping[str, Any]) -> str:
    """What a place of a network is called here."""
    if source == "atlas":
        return f"atlas-{place['probe']}"
    return slugify(f"globalping-{place['country']}-{place['city']}-{place['asn']}")[:63]


def spread(places: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many of some places: one per country in turn, as far as there are any."""
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
        balance = ripe_atlas.balance(api_of("atlas", clock))
        return {"network": "atlas", "credits": balance.credits, "spent_a_day": balance.spent_a_day}
    limits = globalping.limits(api_of("globalping", clock))
    return {
        "network": "globalping",
        "free": limits.free,
        "free_limit": limits.free_limit,
        "reset_s": limits.reset_s,
        "credits": limits.credits,
    }


def has_key(source: str) -> bool:
    """Whether this installation has a key of a network."""
    return bool(settings.ATLAS_KEY if source == "atlas" else settings.GLOBALPING_TOKEN)
