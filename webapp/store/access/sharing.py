"""Publication of surveys, campaigns and audits, and their share links."""

import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import get_script_prefix
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.errors import BadInput, Conflict
from webapp.store.access import events
from webapp.store.access.tokens import digest, live_condition
from webapp.store.access.url_ownership import MODELS
from webapp.store.access.visibility import manageable, may_manage
from webapp.store.models import Audit, Campaign, ShareLink, Survey

Shareable = Survey | Campaign | Audit
MAX_LINKS = 20
LIFETIME_DAYS = (7, 30, 365, 0)
# Minimum interval between updates of ``last_used_at``.
TOUCHED_EVERY = timedelta(minutes=1)
# Separates these tokens from all else that is derived from the secret key.
_SALT = "nephoscope.share-link"


def find_own(user: Any, kind: str, slug: str) -> Shareable | None:
    """Return an object that the user manages, published or not."""
    found: Any = manageable(MODELS[kind]._default_manager.filter(slug=slug), user).first()
    return found


def may_change(user: Any, survey: Survey) -> bool:
    """Whether the user may cancel a survey: who manages it, or anyone for an anonymous one."""
    return survey.maker_id is None or may_manage(survey, user)


def publish(thing: Shareable, user: Any = None) -> None:
    """Make an object public."""
    _record(user, "publish", thing)
    type(thing)._default_manager.filter(pk=thing.pk).update(owner=None)


def withdraw(thing: Shareable, user: Any = None) -> None:
    """Make an object private to its creator; its share links stay valid."""
    rows = type(thing)._default_manager.filter(pk=thing.pk, maker__isnull=False)
    rows.update(owner=thing.maker_id)
    _record(user, "withdraw", thing)


def _record(user: Any, action: str, thing: Shareable) -> None:
    kind = next(iter(_target_field(thing)))
    events.record(user, f"{kind}.{action}", thing.slug, thing.organisation_id)


def _target_field(thing: Shareable) -> dict[str, Any]:
    kind = next(kind for kind, model in MODELS.items() if isinstance(thing, model))
    return {kind: thing}


def issue(owner: Any, thing: Shareable, days: int = 0) -> ShareLink:
    """Create a link; raise ``BadInput`` at the limit of links or for another lifetime."""
    if days not in LIFETIME_DAYS:
        raise BadInput(
            f"a link expires after one of {LIFETIME_DAYS} days, 0 without an end", field="days"
        )
    if links_of(thing).count() >= MAX_LINKS:
        raise Conflict(f"there are {MAX_LINKS} links already; revoke one first")
    seed = secrets.token_hex(32)
    _record(owner, "share", thing)
    return ShareLink.objects.create(
        owner=owner,
        seed=seed,
        sha256=digest(_token(seed)),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        **_target_field(thing),
    )


def _token(seed: str) -> str:
    mac = salted_hmac(_SALT, seed, algorithm="sha256").digest()
    return urlsafe_b64encode(mac).decode().rstrip("=")


def token_of(link: ShareLink) -> str:
    """Return the token of a link; empty if the secret key has changed since."""
    token = _token(link.seed)
    return token if digest(token) == link.sha256 else ""


def path_of(link: ShareLink) -> str:
    """Return the path of a link; empty if its token cannot be derived."""
    token = token_of(link)
    return f"{get_script_prefix()}shared/{token}/" if token else ""


def find(token: str) -> ShareLink | None:
    """Return the valid link of a token and record its use."""
    row = _with_names(ShareLink.objects.filter(live_condition(), sha256=digest(token))).first()
    now = timezone.now()
    if row and (row.last_used_at is None or now - row.last_used_at > TOUCHED_EVERY):
        ShareLink.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def _with_names(rows: QuerySet[ShareLink]) -> QuerySet[ShareLink]:
    """Join slug and name of the targets; the large plan of a campaign is deferred."""
    own = [field.name for field in ShareLink._meta.concrete_fields]
    names = [f"{kind}__{field}" for kind in MODELS for field in ("slug", "name")]
    return rows.select_related(*MODELS).only(*own, *names)


def links_of(thing: Shareable) -> QuerySet[ShareLink]:
    """Return the valid links of an object, newest first."""
    return ShareLink.objects.filter(live_condition(), **_target_field(thing))


def links_by(user: Any) -> QuerySet[ShareLink]:
    """Return the valid links that a user created."""
    return _with_names(ShareLink.objects.filter(live_condition(), owner=user))


def links_managed_by(user: Any) -> QuerySet[ShareLink]:
    """Return the valid links that a user created, and those to objects that the user manages."""
    managed = Q(owner=user)
    for kind, model in MODELS.items():
        managed |= Q(**{f"{kind}__in": manageable(model._default_manager.all(), user)})
    return _with_names(ShareLink.objects.filter(live_condition(), managed))


def revoke(user: Any, pk: int) -> bool:
    """Revoke a link; return false if the user may not, or it is already revoked."""
    link = links_managed_by(user).filter(pk=pk).first()
    if link is None:
        return False
    ShareLink.objects.filter(pk=pk).update(revoked_at=timezone.now())
    _record(user, "unshare", link.opened)
    return True
