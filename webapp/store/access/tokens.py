"""API tokens: issued once, stored as a hash, revocable."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from core.errors import BadInput, Conflict
from webapp.store.access import events, token_subjects
from webapp.store.models import ApiToken

# By this a token is known as one of ours, also to programs that search for leaked ones.
MARK = "neph_"
SHOWN_CHARACTERS = len(MARK) + 4
MAX_PER_USER = 50
LIVES_DAYS = (30, 90, 365, 0)
# Using a token does not write to the store more often than this.
TOUCHED_EVERY = timedelta(minutes=1)


def issue(
    owner: Any, name: str, scope: str, days: int = 0, subjects: Sequence[str] = ()
) -> tuple[ApiToken, str]:
    """A new token and its secret, which nothing can show again; raises ``BadInput``.

    Without ``subjects`` it is not limited to any.
    """
    limited = token_subjects.check(list(subjects))
    title = name.strip()[:80]
    if not title:
        raise BadInput("give it a name, such as the program that will use it", field="name")
    if scope not in ApiToken.Scope.values:
        raise BadInput("choose its scope", field="scope")
    if live(owner).count() >= MAX_PER_USER:
        raise Conflict(f"there are {MAX_PER_USER} tokens already; revoke one that is not used")
    secret = MARK + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        owner=owner,
        name=title,
        prefix=secret[:SHOWN_CHARACTERS],
        sha256=digest(secret),
        scope=scope,
        subjects=limited,
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    events.record(
        owner, "token.create", f"{title} ({', '.join([row.prefix + '…', scope, *limited])})"
    )
    return row, secret


def digest(secret: str) -> str:
    """Return the stored hash of a secret; secrets are random, so a fast hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def live(owner: Any) -> QuerySet[ApiToken]:
    """Return the valid tokens of a user."""
    return ApiToken.objects.filter(live_condition(), owner=owner)


def live_condition() -> Q:
    """Return the filter of valid tokens and share links."""
    ends = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return ends & Q(revoked_at__isnull=True, owner__is_active=True)


def find(secret: str) -> ApiToken | None:
    """Return the valid token of a secret and record its use."""
    rows = ApiToken.objects.filter(live_condition(), sha256=digest(secret))
    row = rows.select_related("owner").first()
    now = timezone.now()
    if row and (row.last_used_at is None or now - row.last_used_at > TOUCHED_EVERY):
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def revoke(owner: Any, pk: int) -> bool:
    """Revoke a token; return false if it is not the owner's or already revoked."""
    row = live(owner).filter(pk=pk).first()
    if row is None:
        return False
    ApiToken.objects.filter(pk=pk).update(revoked_at=timezone.now())
    events.record(owner, "token.revoke", f"{row.name} ({row.prefix}…)")
    return True


def revoke_all(owner: Any) -> int:
    """Revoke all tokens of a user and return their number."""
    number = live(owner).update(revoked_at=timezone.now())
    events.record(owner, "token.revoke", f"all {number}")
    return number
