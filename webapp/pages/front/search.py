"""The header's search: domains of the survey, its regions and reports, methods and terms."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from core.report_tables import SPECS
from webapp.pages.ui import formatting
from webapp.pages.ui.glossary import read_terms
from webapp.pages.ui.report_families import FAMILIES, FAMILY_OF_TABLE
from webapp.store.surveys import evidence, selectors

MAX_HITS = 12
# Shorter texts are in nearly every title.
_LEAST_CHARACTERS = 2


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found, with what it is about."""

    title: str
    href: str
    note: str = ""


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """What holds the text; straight to the list of domains where nothing else does."""
    slug, reader = request.GET.get("survey", ""), request.user
    survey = selectors.survey(slug, reader) if slug else selectors.front_survey(reader)
    if survey is None:
        return redirect("surveys")
    text = request.GET.get("q", "").strip()[:255]
    listed = f"{reverse('domains', args=[survey.slug])}?{urlencode({'q': text})}"
    regions, reports = _find_regions(survey.slug, text), _find_reports(survey.slug, text)
    terms = _find_terms(text)
    if not regions and not reports and not terms:
        return redirect(listed)
    found = evidence.domains(survey.slug, text)
    context: dict[str, Any] = {
        "section": "domains",
        "survey": survey,
        "query": text,
        "domains": found["rows"][:MAX_HITS],
        "total": found["total"],
        "listed": listed,
        "groups": [("Regions", regions), ("Reports and methods", reports), ("Glossary", terms)],
    }
    return render(request, "front/search.html", context)


def _find_regions(slug: str, text: str) -> list[Hit]:
    """Regions by code, town or provider."""
    hits = []
    for region in selectors.map_regions(slug):
        name = formatting.provider_name(region["provider"])
        if _holds(text, region["region"], region["place"], name):
            query = {"kind": "region", "provider": region["provider"], "target": region["region"]}
            href = f"{reverse('outages', args=[slug])}?{urlencode(query)}"
            count = formatting.count(region["subdomains"])
            hits.append(
                Hit(f"{region['place']} ({region['region']})", href, f"{name}, {count} names")
            )
    return hits[:MAX_HITS]


def _find_reports(slug: str, text: str) -> list[Hit]:
    """Report pages by title or question, and tables by title, each once."""
    hits = {}
    for family in FAMILIES:
        if _holds(text, family.title, family.question):
            href = reverse("report", args=[slug, family.slug])
            hits[href] = Hit(family.title, href, family.question)
    for spec in SPECS:
        page = FAMILY_OF_TABLE.get(spec.id)
        if page is not None and _holds(text, spec.title, spec.id):
            href = f"{reverse('report', args=[slug, page.slug])}#{spec.id}"
            hits[href] = Hit(spec.title, href, f"{page.title}; with its method")
    return list(hits.values())[:MAX_HITS]


def _find_terms(text: str) -> list[Hit]:
    """Terms of the glossary by title."""
    address = reverse("glossary")
    found = [term for term in read_terms().values() if _holds(text, term.title, term.id)]
    return [Hit(term.title, f"{address}#{term.id}", term.definition) for term in found[:MAX_HITS]]


def _holds(text: str, *values: str) -> bool:
    wanted = text.lower()
    return len(wanted) >= _LEAST_CHARACTERS and any(wanted in value.lower() for value in values)
