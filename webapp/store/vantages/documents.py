"""Vantage points as pages, API and commands show them: to everyone, and to operators."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.utils import timezone

from webapp.store.models import VantagePoint
from webapp.store.vantages.services import (
    CLOCK_WARNING_MS,
    LOST_AFTER,
    STALE_AFTER,
    WORKING,
    Source,
    State,
)


class Health(StrEnum):
    """What may be expected of a vantage point now."""

    ALIVE = "alive"
    STALE = "stale"  # some heartbeats are missing
    LOST = "lost"
    INVITED = "invited"
    DRAINING = "draining"
    REVOKED = "revoked"
    OUTSIDE = "outside"  # a probe of a public network, or a synthetic one: it sends no heartbeat


def health_of(point: VantagePoint, now: datetime | None = None) -> Health:
    """Return the health by state and age of the last heartbeat."""
    if point.source != Source.OWN:
        return Health.REVOKED if point.state == State.REVOKED else Health.OUTSIDE
    if point.state not in WORKING:
        return Health(point.state)
    age = age_of(point, now)
    if age is None or age > LOST_AFTER:
        return Health.LOST
    if age > STALE_AFTER:
        return Health.STALE
    return Health.DRAINING if point.state == State.DRAINING else Health.ALIVE


def age_of(point: VantagePoint, now: datetime | None = None) -> timedelta | None:
    """Return the time since the last heartbeat."""
    if point.last_seen_at is None:
        return None
    return max(timedelta(0), (now or timezone.now()) - point.last_seen_at)


def clock_is_off(point: VantagePoint) -> bool:
    """Whether its clock is so wrong that it should be mended; its times are corrected anyway."""
    return abs(point.clock_offset_ms or 0.0) > CLOCK_WARNING_MS


def document(point: VantagePoint, *, operator: bool = False) -> dict[str, Any]:
    """The stable JSON form; address, load and notes are for operators."""
    age = age_of(point)
    shown = {
        "name": point.name,
        "source": point.source,
        "state": point.state,
        "health": str(health_of(point)),
        "city": point.city,
        "country": point.country,
        "continent": point.continent,
        "lat": point.lat,
        "lon": point.lon,
        "provider": point.provider,
        "asn": point.asn,
        "cloud": _cloud(point, ("provider", "region", "zone")),
        "limits": point.limits,
        "version": point.version,
        "clock_offset_ms": point.clock_offset_ms,
        "clock_doubt_ms": point.clock_doubt_ms,
        "last_seen_at": point.last_seen_at.isoformat() if point.last_seen_at else None,
        "age_s": round(age.total_seconds(), 1) if age is not None else None,
        "self_check": (point.detail or {}).get("self_check"),
        "joined_at": point.joined_at.isoformat() if point.joined_at else None,
    }
    return {**shown, **_private(point)} if operator else shown


def _cloud(point: VantagePoint, parts: Sequence[str]) -> str:
    found = (point.detail or {}).get("cloud") or {}
    return "/".join(filter(None, (found.get(part) for part in parts)))


def _private(point: VantagePoint) -> dict[str, Any]:
    return {
        "cloud": _cloud(point, ("provider", "region", "zone", "account")),
        "public_address": point.public_address,
        "load": point.load,
        "note": point.note,
        "instance": point.instance,
        "owner": point.owner.get_username() if point.owner else None,
    }
