"""Units that a public network measures: nobody gives them up before the network had its time."""

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
