"""Pages of the log of changes to access: own, of an organisation, and of everybody."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from webapp.pages.accounts.organisations import membership_or_404
from webapp.pages.ui.access import signed_in
from webapp.store.access import events
from webapp.store.models import AccountEvent
from webapp.store.models.organisations import MANAGERS
from webapp.store.vantages.services import is_operator

SHOWN = 500


def _show(request: HttpRequest, rows: QuerySet[AccountEvent], **more: Any) -> HttpResponse:
    """Render the newest events of a query."""
    context = {"section": "account", "rows": rows[:SHOWN], "limit": SHOWN, **more}
    return render(request, "accounts/events.html", context)


@never_cache
@signed_in
@require_GET
def own_events(request: HttpRequest) -> HttpResponse:
    """Show what the account did."""
    return _show(request, events.by_account(request.user), is_operator=is_operator(request.user))


@never_cache
@signed_in
@require_GET
def all_events(request: HttpRequest) -> HttpResponse:
    """Show the events of everybody to operators."""
    if not is_operator(request.user):
        raise Http404("no such page")
    return _show(request, events.of_everybody(), is_of_everybody=True)


@never_cache
@signed_in
@require_GET
def organisation_events(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the events of an organisation to its owners and admins."""
    mine = membership_or_404(request, slug)
    if mine.role not in MANAGERS:
        raise Http404("no such page")
    return _show(request, events.of_organisation(mine), organisation=mine.organisation)
