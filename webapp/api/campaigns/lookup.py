"""The measurement campaign that an address names, for every part of the API that shows one."""

from django.http import Http404, HttpRequest

from webapp.store.campaigns import selectors
from webapp.store.models import Campaign


def campaign_or_404(request: HttpRequest, slug: str) -> Campaign:
    """One campaign, if whoever asks may see it; raises ``Http404``."""
    found = selectors.campaign(slug, request.user)
    if found is None:
        raise Http404(f"there is no measurement {slug!r}")
    return found
