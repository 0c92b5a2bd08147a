"""Lookup of the measurement campaign of an address."""

from django.http import Http404, HttpRequest

from webapp.store.campaigns import selectors
from webapp.store.models import Campaign


def campaign_or_404(request: HttpRequest, slug: str) -> Campaign:
    """Return a campaign that is visible to the requester; raise ``Http404`` otherwise."""
    found = selectors.campaign(slug, request.user)
    if found is None:
        raise Http404(f"there is no measurement {slug!r}")
    return found
