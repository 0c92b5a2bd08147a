"""What a vantage point measured, as far as a reader may see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, Sum

from webapp.store.access.visibility import visible
from webapp.store.models import Campaign, CampaignUnit

_DONE = Q(state=CampaignUnit.State.DONE)
_MISSED = Q(state__in=(CampaignUnit.State.MISSED, CampaignUnit.State.FAILED))


@dataclass(frozen=True, slots=True)
class Share:
    """A vantage point's part in one campaign."""

    campaign: Campaign
    units: int
    done: int
    missed: int
    slots: int
    last_at: datetime | None


def recent(name: str, user: Any = None, limit: int = 20) -> list[Share]:
    """Campaigns that it took part in, the latest first."""
    campaigns = visible(Campaign.objects.all(), user)
    rows = (
        CampaignUnit.objects.filter(vantage=name, campaign__in=campaigns)
        .values("campaign")
        .annotate(
            units=Count("id"),
            done=Count("id", filter=_DONE),
            missed=Count("id", filter=_MISSED),
            slots=Sum("slots", filter=_DONE),
            last_at=Max("finished_at"),
        )
        .order_by("-campaign")[:limit]
    )
    known = campaigns.in_bulk([row["campaign"] for row in rows])
    return [
        Share(
            campaign=known[row["campaign"]],
            units=row["units"],
            done=row["done"],
            missed=row["missed"],
            slots=row["slots"] or 0,
            last_at=row["last_at"],
        )
        for row in rows
    ]


def outstanding(name: str) -> int:
    """Units that were sent there and have not come back."""
    return CampaignUnit.objects.filter(vantage=name, state=CampaignUnit.State.SENT).count()
