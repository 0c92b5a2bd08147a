"""Endpoints that alerts are sent to: creation, change, secrets, confirmation."""

import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from core.errors import BadInput, Conflict
from webapp.store.models import AlertDelivery, AlertEndpoint, Schedule
from webapp.store.requests.texts import slug_of
from webapp.store.schedules import deliveries, kinds, targets, timing
from webapp.store.schedules.services import check_name

Format, State = AlertEndpoint.Format, AlertEndpoint.State
MAX_ENDPOINTS = 20
MAX_QUIET_AFTER = 1_000
# Receivers have this long to take over a new secret.
OLD_SECRET_LIVES = timedelta(hours=24)
CONFIRMED_WITHIN = timedelta(days=3)
_SALT = "nephoscope.alert-endpoint"
_CONFIRMATION = "nephoscope.alert-endpoint.confirmation"
# Fields that a request may set, beside name and target.
FIELDS = ("kinds", "quiet_after", "digest_hour", "time_zone")


def endpoints_of(user: Any) -> QuerySet[AlertEndpoint]:
    """The endpoints of an account by name; none without an account."""
    if user is None or not user.is_authenticated:
        return AlertEndpoint.objects.none()
    return AlertEndpoint.objects.filter(owner=user.pk).select_related("schedule")


def find_endpoint(slug: str, user: Any) -> AlertEndpoint | None:
    """The endpoint of this account, or None."""
    return endpoints_of(user).filter(slug=slug).first()


def create_endpoint(
    owner: Any,
    given: Mapping[str, Any],
    now: datetime,
    schedule: Schedule | None = None,
) -> AlertEndpoint:
    """Store an endpoint; an e-mail address has to be confirmed first. Raises ``BadInput``."""
    if AlertEndpoint.objects.filter(owner=owner).count() >= MAX_ENDPOINTS:
        raise Conflict(f"an account has at most {MAX_ENDPOINTS} endpoints; delete one first")
    form = str(given.get("format", Format.WEBHOOK))
    if form not in Format.values:
        raise BadInput(f"must be one of {', '.join(Format.values)}", field="format")
    name = check_name(str(given.get("name", "")))
    row = AlertEndpoint(
        owner=owner,
        slug=slug_of(name, "endpoint"),
        name=name,
        format=form,
        target=check_target(form, str(given.get("target", ""))),
        schedule=schedule,
        seed=secrets.token_hex(32),
        state=State.UNCONFIRMED if form == Format.EMAIL else State.ACTIVE,
        kinds=sorted(kinds.KINDS),
    )
    _set_fields(row, given, now)
    row.save()
    return row


def check_target(form: str, target: str) -> str:
    """A URL or e-mail address as it is stored; raises ``BadInput``."""
    text = target.strip()
    if form != Format.EMAIL:
        targets.check_url(text)
        return text
    if not settings.EMAIL_HOST:
        raise BadInput("this site sends no e-mail; its operator can set it up", field="format")
    try:
        validate_email(text)
    except ValidationError as error:
        raise BadInput(f"{text[:80]!r} is not an e-mail address", field="target") from error
    return text


def change_endpoint(row: AlertEndpoint, given: Mapping[str, Any], now: datetime) -> None:
    """Change an endpoint; a disabled one can be enabled again. Raises ``BadInput``."""
    if "name" in given:
        row.name = check_name(given["name"])
    if "target" in given and given["target"] not in (row.target, shown_target(row)):
        row.target = check_target(row.format, given["target"])
        if row.format == Format.EMAIL:
            row.state = State.UNCONFIRMED
    if "is_active" in given and row.state != State.UNCONFIRMED:
        row.state = State.ACTIVE if given["is_active"] else State.DISABLED
        row.disabled_reason = "" if given["is_active"] else "disabled by its owner"
    _set_fields(row, given, now)
    row.save()


def _set_fields(row: AlertEndpoint, given: Mapping[str, Any], now: datetime) -> None:
    if "kinds" in given:
        row.kinds = _check_kinds(given["kinds"])
    if "quiet_after" in given:
        row.quiet_after = _check_number(given["quiet_after"], "quiet_after", MAX_QUIET_AFTER)
    if "time_zone" in given:
        row.time_zone = timing.check_zone(str(given["time_zone"]))
    if "digest_hour" in given:
        hour = given["digest_hour"]
        row.digest_hour = None if hour is None else _check_number(hour, "digest_hour", 23)
    if row.digest_hour is None or row.next_digest is None or "digest_hour" in given:
        row.last_digest = row.last_digest or now
        row.next_digest = deliveries.next_digest(row, now)


def _check_kinds(given: Sequence[str]) -> list[str]:
    unknown = [str(kind) for kind in given if kind not in kinds.KINDS]
    if unknown:
        raise BadInput(
            f"{unknown[0][:80]!r} is not one of {', '.join(sorted(kinds.KINDS))}", field="kinds"
        )
    return sorted(set(given))


def _check_number(value: int, field: str, most: int) -> int:
    if not 0 <= value <= most:
        raise BadInput(f"must be from 0 to {most:,}", field=field)
    return value


def secret_of(seed: str) -> str:
    """The signing secret of a seed, as Standard Webhooks writes it."""
    key = salted_hmac(_SALT, seed, algorithm="sha256").digest()
    return f"whsec_{base64.b64encode(key).decode()}"


def secrets_of(row: AlertEndpoint, now: datetime) -> list[str]:
    """The secrets that sign now, the newest first."""
    seeds = [row.seed]
    if row.previous_seed and row.previous_until and row.previous_until > now:
        seeds.append(row.previous_seed)
    return [secret_of(seed) for seed in seeds]


def rotate_secret(row: AlertEndpoint, now: datetime) -> str:
    """Make a new secret and return it; the one before signs too for a day."""
    row.previous_seed, row.previous_until = row.seed, now + OLD_SECRET_LIVES
    row.seed = secrets.token_hex(32)
    row.save(update_fields=["seed", "previous_seed", "previous_until"])
    return secret_of(row.seed)


def confirmation_of(row: AlertEndpoint) -> str:
    """What the link in a confirmation holds."""
    return signing.dumps([row.pk, row.target], salt=_CONFIRMATION)


def find_unconfirmed(token: str) -> AlertEndpoint | None:
    """The e-mail endpoint that a confirmation is about; None where it is invalid or too old."""
    try:
        pk, target = signing.loads(token, salt=_CONFIRMATION, max_age=CONFIRMED_WITHIN)
    except (signing.BadSignature, TypeError, ValueError):
        return None
    rows = AlertEndpoint.objects.filter(pk=pk, target=target, state=State.UNCONFIRMED)
    return rows.select_related("owner").first()


def confirm(row: AlertEndpoint) -> None:
    """Let alerts be sent to an address."""
    rows = AlertEndpoint.objects.filter(pk=row.pk, target=row.target, state=State.UNCONFIRMED)
    rows.update(state=State.ACTIVE)


def shown_target(row: AlertEndpoint) -> str:
    """The target as lists show it; the path of a Slack webhook is its secret."""
    if row.format != Format.SLACK:
        return row.target
    parts = row.target.split("/", 3)
    return "/".join([*parts[:3], "…"])


def find_delivery(endpoint: AlertEndpoint, message_id: str) -> AlertDelivery | None:
    """A delivery of an endpoint, or None."""
    return AlertDelivery.objects.filter(endpoint=endpoint, message_id=message_id).first()
