"""What a share link of a recommendation opens: the stored answer, to be read and exported.

Nothing is solved for who has only the link, and nothing leads to the survey behind it.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from tasks.surveys.export import table_csv
from webapp.pages.recommendations.answer import AnswerView, answer_context, choose_size
from webapp.store.models import Recommendation
from webapp.store.recommendations import services
from webapp.store.recommendations.services import CURVE_COLUMNS, curve_rows

# Keys of the source that name the samples, without the survey behind them.
_SOURCE_FIELDS = (
    "kind",
    "name",
    "model",
    "reason",
    "synthetic",
    "label",
    "vantages",
    "countries",
    "weights",
    "countries_modelled",
    "zones",
)


@never_cache
@require_GET
def answer(request: HttpRequest, share_token: str) -> HttpResponse:
    """The answer as its owner keeps it; sizes and failures can be looked at."""
    row = _shared(share_token)
    result = row.result or {}
    k = choose_size(result, request.GET.get("k", ""))
    look = AnswerView(k, request.GET.get("fail", "")[:400], row.options)
    context = {
        **answer_context(result, look, _shared_source(row)),
        "section": "recommendations",
        "row": row,
        "is_shared": True,
        "share_token": share_token,
        "query": "",
    }
    reply = render(request, "recommendations/answer.html", context)
    # The URL is a secret, so it is sent to other sites in no referrer.
    reply["Referrer-Policy"] = "no-referrer"
    return reply


def _shared_source(row: Recommendation) -> dict[str, Any]:
    """What readers of a link see of the source: of the clients' basis the shares alone."""
    found = {name: row.source[name] for name in _SOURCE_FIELDS if name in row.source}
    if basis := row.source.get("basis"):
        found["basis"] = {name: basis[name] for name in ("shares", "n_clients")}
    return found


@never_cache
@require_GET
def sets_csv(request: HttpRequest, share_token: str) -> HttpResponse:
    """A row per size of set."""
    text = table_csv(CURVE_COLUMNS, curve_rows(_shared(share_token)))
    return HttpResponse(text, content_type="text/csv; charset=utf-8")


@never_cache
@require_GET
def answer_json(request: HttpRequest, share_token: str) -> HttpResponse:
    """The whole answer."""
    return JsonResponse(_shared(share_token).result or {})


def _shared(share_token: str) -> Recommendation:
    row = services.find_shared(share_token)
    if row is None or row.result is None:
        raise Http404("there is no such link, or it was revoked")
    return row
