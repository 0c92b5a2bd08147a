"""State transitions of vantage points: invite, join, drain, resume, revoke, heartbeat."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from core.errors import BadInput, Conflict
from webapp.store.access.visibility import visible
from webapp.store.models import JoinToken, VantagePoint

State = VantagePoint.State
Source = VantagePoint.Source
TOKEN_LIFE = timedelta(hours=24)
# Names are parts of queues, keys and file names.
NAME = re.compile("[a-z0-9][a-z0-9-]{0,23}")
RESERVED = frozenset({"enlist", "invite", "join"})
# A heartbeat comes every ten seconds: three missed ones, then two minutes.
STALE_AFTER = timedelta(seconds=35)
LOST_AFTER = timedelta(seconds=120)
# A larger clock offset is reported, since it may move samples to other rounds.
CLOCK_WARNING_MS = 1_000.0
# PROVIDER/REGION[/ZONE[/ACCOUNT]]; the account is the one in which the zone has this label.
_CLOUD = re.compile(
    r"(?P<provider>[a-z0-9-]{1,40})/(?P<region>[a-z0-9-]{1,60})"
    r"(?:/(?P<zone>[a-z0-9-]{1,60})(?:/(?P<account>[A-Za-z0-9._-]{1,60}))?)?"
)
_PLACE = ("city", "country", "continent", "lat", "lon", "provider", "asn")
WORKING = (State.JOINED, State.DRAINING)


class UnknownToken(BadInput):
    """The one-time token is unknown, used or expired."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Identity of a joined vantage point; the password is returned once."""

    point: VantagePoint
    password: str


def digest(text: str) -> str:
    """What is kept of tokens and passwords: both are random, so that a plain digest is enough."""
    return hashlib.sha256(text.encode()).hexdigest()


def invite(
    name: str, place: Mapping[str, Any], limits: Mapping[str, Any], owner: Any = None
) -> tuple[VantagePoint, str]:
    """A new vantage point and its one-time token; raises ``BadInput`` for a name in use."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is not a name of a vantage point; use up to 24 of a-z, 0-9 and -",
            field="name",
        )
    if name in RESERVED:
        raise BadInput(f"{name!r} stands for something else in addresses", field="name")
    values = check_place(place)
    try:
        with transaction.atomic():
            point = VantagePoint.objects.create(
                name=name, limits=dict(limits), owner=owner, **values
            )
    except IntegrityError as error:
        raise Conflict(f"there is a vantage point {name!r} already", field="name") from error
    return point, new_token(point)


def check_place(place: Mapping[str, Any]) -> dict[str, Any]:
    """The location of a vantage point, validated; raises ``BadInput`` that names the field."""
    values = {key: place[key] for key in _PLACE if place.get(key) not in (None, "")}
    for field, (low, high) in _BOUNDS.items():
        if field in values and not low <= _number(values[field], field) <= high:
            raise BadInput(f"{values[field]!r} is not from {low:g} to {high:g}", field=field)
    for field, (pattern, hint) in _TEXTS.items():
        if field in values and not re.fullmatch(pattern, str(values[field])):
            raise BadInput(f"{values[field]!r} is no {hint}", field=field)
    values = {k: v.upper() if k in ("country", "continent") else v for k, v in values.items()}
    return values | ({"detail": {"cloud": _cloud(place["cloud"])}} if place.get("cloud") else {})


def _cloud(text: Any) -> dict[str, str]:
    """The cloud of a vantage point; raises ``BadInput``."""
    found = _CLOUD.fullmatch(str(text))
    if found is None:
        raise BadInput(
            f"{text!r} is not like aws/us-east-1, aws/us-east-1/a or aws/us-east-1/a/ACCOUNT",
            field="cloud",
        )
    return found.groupdict("")


def cloud_of(name: str) -> dict[str, str]:
    """Return provider, region and zone of a vantage point in a cloud; else empty."""
    detail = VantagePoint.objects.filter(name=name).values_list("detail", flat=True).first()
    return dict((detail or {}).get("cloud") or {})


_BOUNDS = {"lat": (-90.0, 90.0), "lon": (-180.0, 180.0), "asn": (1, 2**32 - 1)}
_TEXTS = {
    "country": ("[A-Za-z]{2}", "code of two letters"),
    "continent": ("[A-Za-z]{2}", "code of two letters"),
    "city": (r"[^\x00-\x1f\x7f]{1,80}", "name of at most 80 characters"),
    "provider": (r"[^\x00-\x1f\x7f]{1,120}", "name of at most 120 characters"),
}


def _number(value: Any, field: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise BadInput(f"{value!r} is not a number", field=field)


def new_token(point: VantagePoint) -> str:
    """A fresh one-time token; those before it are void. Raises ``Conflict`` for a joined one."""
    if point.state in WORKING:
        raise Conflict(f"{point.name} has joined; revoke it before inviting it again")
    token = secrets.token_hex(24)  # it is a command's argument: no hyphen may begin it
    with transaction.atomic():
        point.tokens.filter(used_at=None).delete()
        JoinToken.objects.create(
            vantage=point, sha256=digest(token), expires_at=timezone.now() + TOKEN_LIFE
        )
        _set(point, state=State.INVITED, note="")
    return token


def redeem(token: str, address: str | None, version: str) -> Joined:
    """Exchange a token for a password, once even under concurrency; raise ``UnknownToken``.

    Callers wrap it in a transaction with what must not fail after it.
    """
    now = timezone.now()
    live = JoinToken.objects.filter(
        sha256=digest(token), used_at=None, expires_at__gt=now, vantage__state=State.INVITED
    )
    found = live.select_related("vantage").first()
    # A condition on the row itself: PostgreSQL does not look again at one of a joined table.
    unused = JoinToken.objects.filter(pk=found.pk, used_at=None) if found else live.none()
    if found is None or not unused.update(used_at=now):
        raise UnknownToken("this token is not known, was used, or is too old; ask for a new one")
    password = secrets.token_urlsafe(32)
    _set(
        found.vantage,
        state=State.JOINED,
        secret_sha256=digest(password),
        joined_at=now,
        last_seen_at=now,
        public_address=address,
        version=version[:40],
        instance="",
        note="",
    )
    return Joined(found.vantage, password)


class Seen(NamedTuple):
    """A presence message: its source address, and the machine's version and self-check."""

    address: str | None
    version: str = ""
    self_check: Mapping[str, Any] | None = None


def record_presence(name: str, password: str, seen: Seen) -> VantagePoint:
    """Record a presence message of a vantage point; raise ``BadInput`` for wrong credentials."""
    point = VantagePoint.objects.filter(name=name, state__in=WORKING).first()
    if point is None or not hmac.compare_digest(point.secret_sha256, digest(password)):
        raise BadInput(f"no vantage point {name} with this password")
    now = timezone.now()
    values: dict[str, Any] = {"public_address": seen.address, "version": seen.version[:40]}
    if seen.self_check is not None:
        found = {**seen.self_check, "checked_at": now.isoformat()}
        values["detail"] = {**point.detail, "self_check": found}
    _set(point, last_seen_at=now, **values)
    return point


def set_state(point: VantagePoint, state: State, note: str = "") -> None:
    """Drain, resume or revoke; raises ``BadInput`` where that cannot be."""
    allowed = {
        State.DRAINING: (State.JOINED, State.DRAINING),
        State.JOINED: (State.JOINED, State.DRAINING),
        State.REVOKED: tuple(State),
    }
    if point.state not in allowed[state]:
        raise BadInput(f"{point.name} is {point.state}; it cannot become {state}")
    gone = {"secret_sha256": ""} if state == State.REVOKED else {}
    _set(point, state=state, note=note, **gone)
    if state == State.REVOKED:
        point.tokens.filter(used_at=None).delete()


def set_limits(point: VantagePoint, limits: Mapping[str, Any]) -> None:
    """Store checked limits."""
    _set(point, limits=dict(limits))


def record_heartbeat(name: str, word: Mapping[str, Any], at: datetime) -> None:
    """Store the validated fields of a heartbeat (``tasks.vantage_admin.heartbeats``)."""
    VantagePoint.objects.filter(name=name, state__in=WORKING).update(last_seen_at=at, **word)


def _set(point: VantagePoint, **values: Any) -> None:
    VantagePoint.objects.filter(pk=point.pk).update(**values)
    for key, value in values.items():
        setattr(point, key, value)


def is_leaving(name: str) -> bool:
    """Whether it is draining or revoked."""
    leaving = (State.DRAINING, State.REVOKED)
    return VantagePoint.objects.filter(name=name, state__in=leaving).exists()


def is_revoked(name: str) -> bool:
    """Whether it was revoked."""
    return VantagePoint.objects.filter(name=name, state=State.REVOKED).exists()


def check_usable(name: str) -> None:
    """Raises ``BadInput`` unless an own vantage point of this name may be sent work, or will."""
    point = VantagePoint.objects.filter(name=name, source=Source.OWN).first()
    if point is None or point.state == State.REVOKED:
        raise BadInput(f"there is no vantage point {name!r}; see manage.py vantage list")


def own_points() -> models.QuerySet[VantagePoint]:
    """Own machines, whatever their state."""
    return VantagePoint.objects.filter(source=Source.OWN)


def points(user: Any = None) -> models.QuerySet[VantagePoint]:
    """Vantage points that ``user`` may see."""
    return visible(VantagePoint.objects.all(), user)


def point(name: str, user: Any = None) -> VantagePoint | None:
    """One of those that ``user`` may see."""
    return points(user).filter(name=name).first()


def is_operator(user: Any) -> bool:
    """Whether a user may invite, drain and revoke, and sees addresses."""
    return bool(getattr(user, "is_staff", False))


def points_named(names: list[str]) -> list[VantagePoint]:
    """Vantage points of these names, those of one source together."""
    return list(VantagePoint.objects.filter(name__in=names).order_by("source", "name"))
