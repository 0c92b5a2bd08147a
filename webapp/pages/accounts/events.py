"""Pages of the log of changes to access: own, of an organisation, and of everyone."""

import json
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from webapp.pages.accounts.organisations import membership_or_404
from webapp.pages.ui.access import signed_in
from webapp.store.access import events
from webapp.store.models import AccountEvent
from webapp.store.models.accounts.organisations import MANAGERS
from webapp.store.vantages.services import is_operator

PAGE_ROWS = 200
_LARGEST_ID = 2**63 - 1


def _show(request: HttpRequest, rows: QuerySet[AccountEvent], **more: Any) -> Any:
    """Render a page of events, or give all of them as JSON Lines for ``?format=jsonl``.

    ``?before=`` is the id of the last event of the page before: pages stay as they are while events
    are added.
    """
    if request.GET.get("format") == "jsonl":
        answer = StreamingHttpResponse(_write_lines(rows), content_type="application/jsonl")
        answer["Content-Disposition"] = 'attachment; filename="audit-log.jsonl"'
        return answer
    before = request.GET.get("before", "")
    if before.isdecimal() and int(before) <= _LARGEST_ID:
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: PAGE_ROWS + 1])
    context = {
        "section": "account",
        "rows": found[:PAGE_ROWS],
        "is_first": not before,
        "before": found[PAGE_ROWS - 1].pk if len(found) > PAGE_ROWS else None,
        **more,
    }
    return render(request, "accounts/events.html", context)


def _write_lines(rows: QuerySet[AccountEvent]) -> Iterator[str]:
    for row in rows.iterator(chunk_size=1000):
        document = {
            "id": row.pk,
            "at": row.at.isoformat(),
            "account": row.actor,
            "action": row.action,
            "subject": row.subject,
            "request_id": row.request_id,
        }
        yield json.dumps(document, ensure_ascii=False) + "\n"


@never_cache
@signed_in
@require_GET
def own_events(request: HttpRequest) -> Any:
    """Show what the account did."""
    return _show(request, events.by_account(request.user), is_operator=is_operator(request.user))


@never_cache
@signed_in
@require_GET
def all_events(request: HttpRequest) -> Any:
    """Show the events of everyone to operators."""
    if not is_operator(request.user):
        raise Http404("no such page")
    return _show(request, events.of_everybody(), is_of_everybody=True)


@never_cache
@signed_in
@require_GET
def organisation_events(request: HttpRequest, slug: str) -> Any:
    """Show the events of an organisation to its owners and admins."""
    mine = membership_or_404(request, slug)
    if mine.role not in MANAGERS:
        raise Http404("no such page")
    return _show(request, events.of_organisation(mine), organisation=mine.organisation)
