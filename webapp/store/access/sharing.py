"""Who else may see a survey or a measurement campaign: publishing, taking back, links that show it.

A thing goes in, of either kind; its links, and whose it is from now on, come out.
"""

import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import get_script_prefix
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.errors import BadInput
from webapp.store.access.tokens import digest
from webapp.store.access.url_ownership import MODELS
from webapp.store.models import Campaign, ShareLink, Survey

Thing = Survey | Campaign
MAX_PER_THING = 20
LIVES_DAYS = (7, 30, 365, 0)
# Opening a link does not write to the store more often than this.
TOUCHED_EVERY = timedelta(minutes=1)
# Separates these tokens from all else that is derived from the secret key.
_SALT = "nephoscope.share-link"


def made_by(user: Any, kind: str, slug: str) -> Thing | None:
    """A thing of a kind that this person made, published or not."""
    if user is None or not user.is_authenticated:
        return None
    return MODELS[kind]._default_manager.filter(slug=slug, maker=user.pk).first()


def may_change(user: Any, survey: Survey) -> bool:
    """Whether this person may stop a survey: its maker, or anybody where nobody made it."""
    return survey.maker_id is None or bool(user and user.pk == survey.maker_id)


def publish(thing: Thing) -> None:
    """Let everybody see it."""
    type(thing)._default_manager.filter(pk=thing.pk).update(owner=None)


def withdraw(thing: Thing) -> None:
    """Let its maker alone see it; links that were made for it go on showing it."""
    rows = type(thing)._default_manager.filter(pk=thing.pk, maker__isnull=False)
    rows.update(owner=thing.maker_id)


def _whose(thing: Thing) -> dict[str, Any]:
    return {"survey" if isinstance(thing, Survey) else "campaign": thing}


def issue(owner: Any, thing: Thing, days: int = 0) -> ShareLink:
    """A new link; raises ``BadInput`` when there are too many, or for a life not offered."""
    if days not in LIVES_DAYS:
        raise BadInput(f"a link lives one of {LIVES_DAYS} days, 0 without an end", field="days")
    if links_of(thing).count() >= MAX_PER_THING:
        raise BadInput(f"there are {MAX_PER_THING} links already; take one back first")
    seed = secrets.token_hex(32)
    return ShareLink.objects.create(
        owner=owner,
        seed=seed,
        sha256=digest(_token(seed)),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
        **_whose(thing),
    )


def _token(seed: str) -> str:
    mac = salted_hmac(_SALT, seed, algorithm="sha256").digest()
    return urlsafe_b64encode(mac).decode().rstrip("=")


def token_of(link: ShareLink) -> str:
    """The token of a link; empty where the secret key has changed since it was made."""
    token = _token(link.seed)
    return token if digest(token) == link.sha256 else ""


def path_of(link: ShareLink) -> str:
    """Where a link leads to; empty where it cannot be told any more."""
    token = token_of(link)
    return f"{get_script_prefix()}shared/{token}/" if token else ""


def is_live() -> Q:
    """What a link has to be so that it opens something."""
    ends = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return ends & Q(revoked_at__isnull=True, owner__is_active=True)


def find(token: str) -> ShareLink | None:
    """The live link of a token, marked as used."""
    row = _named(ShareLink.objects.filter(is_live(), sha256=digest(token))).first()
    now = timezone.now()
    if row and (row.last_used_at is None or now - row.last_used_at > TOUCHED_EVERY):
        ShareLink.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def _named(rows: QuerySet[ShareLink]) -> QuerySet[ShareLink]:
    """With the names of what links open; a campaign's plan may be long, and is left."""
    own = [field.name for field in ShareLink._meta.concrete_fields]
    names = [f"{kind}__{field}" for kind in MODELS for field in ("slug", "name")]
    return rows.select_related(*MODELS).only(*own, *names)


def links_of(thing: Thing) -> QuerySet[ShareLink]:
    """Live links to it, the newest first."""
    return ShareLink.objects.filter(is_live(), **_whose(thing))


def links_by(user: Any) -> QuerySet[ShareLink]:
    """Live links that a person made."""
    return _named(ShareLink.objects.filter(is_live(), owner=user))


def revoke(owner: Any, pk: int) -> bool:
    """Take a link back for good; false when it is not theirs, or was taken back."""
    live = ShareLink.objects.filter(is_live(), owner=owner, pk=pk)
    return bool(live.update(revoked_at=timezone.now()))
