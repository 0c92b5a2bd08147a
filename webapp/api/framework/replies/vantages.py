# ruff: noqa: D101
"""Response schemas of vantage points and searches at public networks."""

from datetime import datetime
from typing import Literal

from ninja import Schema

from webapp.api.framework.replies.details import (
    NetworkCredits,
    ProbePlace,
    VantageLimits,
)

Health = Literal["alive", "stale", "lost", "invited", "draining", "revoked", "outside"]


class SelfCheck(Schema):
    """What a machine can measure; ``icmp`` is empty if echo requests are not permitted.

    ``mtu`` is that of the path to the site in octets, ``clock_error_ms`` the largest error of its
    clock as its kernel knows it.
    """

    icmp: Literal["", "ping socket", "raw socket"]
    raw: bool
    ipv4: bool
    ipv6: bool
    mtu: int | None
    clock_synchronized: bool | None
    clock_error_ms: float | None
    checked_at: datetime


class VantagePoint(Schema):
    """Where measurements are made from; address, load and notes are for operators."""

    name: str
    source: str
    state: str
    health: Health
    city: str
    country: str
    continent: str
    lat: float | None
    lon: float | None
    provider: str
    asn: int | None
    cloud: str
    limits: VantageLimits
    version: str
    clock_offset_ms: float | None
    clock_doubt_ms: float | None
    last_seen_at: datetime | None
    age_s: float | None
    self_check: SelfCheck | None
    joined_at: datetime | None


class NewVantagePoint(VantagePoint):
    """``token`` works once, for ``hours``; ``command`` joins with it."""

    token: str
    command: str
    hours: float


class VantageIdentity(Schema):
    """Credentials of a vantage point; returned once."""

    name: str
    host: str
    port: int
    user: str
    password: str
    authority: str
    limits: VantageLimits


class Presence(Schema):
    name: str
    state: str
    address: str | None


class WantedProbes(Schema):
    network: str
    country: str
    city: str
    asn: int
    count: int


class NetworkSearch(Schema):
    """A search at a public network with its results so far."""

    key: str
    state: Literal["waiting", "asking", "ready", "failed"]
    wanted: WantedProbes
    error: str
    credits: NetworkCredits | None
    credits_error: str
    places: list[ProbePlace]
    matching: int
    asked_at: datetime
    said_at: datetime | None


class EnlistedPoints(Schema):
    count: int
    results: list[VantagePoint]
