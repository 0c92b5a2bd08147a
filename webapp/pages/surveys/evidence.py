"""The evidence behind a label, as a page or as the panel that a script opens."""

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.surveys import label_evidence

# The header by which a script asks for the panel alone.
PART = "X-Part"


@require_GET
def proof(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Why a name has a label: the answer, the prefix or alias, the rule."""
    survey = survey_or_404(request, slug)
    kind, provider, value = _asked(request)
    found = label_evidence.proof(slug, name, kind, provider, value)
    if found is None:
        raise Http404(f"{name} has no such label")
    shown = {**found, "lookups": [_shown(k, found["wanted"]) for k in found["lookups"]]}
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "found": shown,
        "kind": kind,
        "provider": provider,
        "title": _title(kind, provider, value),
    }
    return _answer(
        request, "surveys/evidence/proof.html", "surveys/evidence/proof_panel.html", context
    )


def _shown(lookup: dict[str, Any], wanted: set[str]) -> dict[str, Any]:
    """A lookup with its relevant records marked."""
    records = [{**r, "is_proof": r["data"].rstrip(".") in wanted} for r in lookup["answers"] or []]
    return {**lookup, "records": records}


@require_GET
def label(request: HttpRequest, slug: str) -> HttpResponse:
    """Who has a label: the best-ranked domains, each with its evidence."""
    survey = survey_or_404(request, slug)
    kind, provider, value = _asked(request)
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "found": label_evidence.domains_with(slug, kind, provider, value),
        "kind": kind,
        "provider": provider,
        "title": _title(kind, provider, value),
        "outage": _outage(slug, kind, provider, value),
    }
    return _answer(
        request, "surveys/evidence/label.html", "surveys/evidence/label_panel.html", context
    )


def _asked(request: HttpRequest) -> tuple[str, str, str]:
    kind = request.GET.get("kind", "")
    if kind not in label_evidence.KINDS:
        raise Http404(f"no kind of label {kind}")
    return kind, request.GET.get("provider", ""), request.GET.get("value", "")


def _title(kind: str, provider: str, value: str) -> str:
    if kind == "provider":
        return formatting.provider_name(provider)
    return formatting.feature(value) if kind == "pattern" else value


def _outage(slug: str, kind: str, provider: str, value: str) -> str:
    """Where it is explored what fails with the label."""
    if kind not in ("provider", "region"):
        return ""
    query = {"kind": kind, "provider": provider, "target": value or provider}
    return f"{reverse('outages', args=[slug])}?{urlencode(query)}"


def _answer(request: HttpRequest, page: str, panel: str, context: dict[str, Any]) -> HttpResponse:
    wants_panel = request.headers.get(PART) == "panel"
    response = render(request, panel if wants_panel else page, {**context, "is_panel": wants_panel})
    patch_vary_headers(response, [PART])
    return response
