"""Who else may see a survey: publishing it, taking it back, and links that only show it."""

import secrets
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.errors import BadInput
from webapp.store.models import Campaign, ShareLink
from webapp.store.tokens import digest

MAX_PER_SURVEY = 20
LIVES_DAYS = (7, 30, 365, 0)
# Opening a link does not write to the store more often than this.
TOUCHED_EVERY = timedelta(minutes=1)
# Separates these tokens from all else that is derived from the secret key.
_SALT = "nephoscope.share-link"


def made_by(user: Any, slug: str) -> Campaign | None:
    """A survey that this person made, published or not."""
    if user is None or not user.is_authenticated:
        return None
    return Campaign.objects.filter(slug=slug, maker=user.pk).first()


def may_change(user: Any, campaign: Campaign) -> bool:
    """Whether this person may stop a survey: its maker, or anybody where nobody made it."""
    return campaign.maker_id is None or bool(user and user.pk == campaign.maker_id)


def publish(campaign: Campaign) -> None:
    """Let everybody see a survey."""
    Campaign.objects.filter(pk=campaign.pk).update(owner=None)


def withdraw(campaign: Campaign) -> None:
    """Let its maker alone see a survey; links that were made for it go on showing it."""
    Campaign.objects.filter(pk=campaign.pk, maker__isnull=False).update(owner=campaign.maker_id)


def issue(owner: Any, campaign: Campaign, days: int = 0) -> ShareLink:
    """A new link to a survey; raises ``BadInput`` when there are too many."""
    if links_of(campaign).count() >= MAX_PER_SURVEY:
        raise BadInput(f"there are {MAX_PER_SURVEY} links already; take one back first")
    seed = secrets.token_hex(32)
    return ShareLink.objects.create(
        owner=owner,
        survey=campaign,
        seed=seed,
        sha256=digest(_token(seed)),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )


def _token(seed: str) -> str:
    mac = salted_hmac(_SALT, seed, algorithm="sha256").digest()
    return urlsafe_b64encode(mac).decode().rstrip("=")


def token_of(link: ShareLink) -> str:
    """The token of a link; empty where the secret key has changed since it was made."""
    token = _token(link.seed)
    return token if digest(token) == link.sha256 else ""


def is_live() -> Q:
    """What a link has to be so that it opens something."""
    ends = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return ends & Q(revoked_at__isnull=True, owner__is_active=True)


def find(token: str) -> ShareLink | None:
    """The live link of a token, marked as used."""
    rows = ShareLink.objects.filter(is_live(), sha256=digest(token))
    row = rows.select_related("survey", "owner").first()
    now = timezone.now()
    if row and (row.last_used_at is None or now - row.last_used_at > TOUCHED_EVERY):
        ShareLink.objects.filter(pk=row.pk).update(last_used_at=now)
    return row


def links_of(campaign: Campaign) -> QuerySet[ShareLink]:
    """Live links to a survey, the newest first."""
    return ShareLink.objects.filter(is_live(), survey=campaign)


def links_by(user: Any) -> QuerySet[ShareLink]:
    """Live links that a person made."""
    return ShareLink.objects.filter(is_live(), owner=user).select_related("survey")


def revoke(owner: Any, pk: int) -> bool:
    """Take a link back for good; false when it is not theirs, or was taken back."""
    return bool(links_by(owner).filter(pk=pk).update(revoked_at=timezone.now()))
