"""Leases of units that a public network measures."""

from datetime import datetime

from webapp.store.models import CampaignUnit


def hold_unit(slug: str, vantage: str, key: str, until: datetime) -> None:
    """Wait for a unit that was sent at least until a moment."""
    CampaignUnit.objects.filter(
        campaign__slug=slug,
        vantage=vantage,
        key=key,
        state=CampaignUnit.State.SENT,
        leased_until__lt=until,
    ).update(leased_until=until)
