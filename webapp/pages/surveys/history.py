"""The history of a domain: every survey that saw it, and what changed from one to the next."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from tasks.surveys import derived_tasks
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.models import Survey
from webapp.store.surveys import domain_history, evidence

TITLES = {
    "providers": "Providers",
    "regions": "Regions",
    "zones": "Zones",
    "patterns": "Patterns",
    "name_servers": "Name servers",
}


@require_GET
def history(request: HttpRequest, slug: str, domain: str) -> HttpResponse:
    """All visits of one domain within the world of the survey, the newest first."""
    survey = survey_or_404(request, slug)
    derived_tasks.request_index(Survey.objects.get(slug=slug))
    # An emulated world and the real Internet are never one history.
    visits = domain_history.history(domain.lower(), survey.world, request.user)
    if not visits and evidence.domain(slug, domain) is None:
        raise Http404(f"no survey asked {domain}")
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "domain": domain.lower(),
        "visits": [_shown(v) for v in visits],
        "sentence": sentence(visits) if visits else "",
    }
    return render(request, "surveys/domains/history.html", context)


def sentence(visits: list[domain_history.DomainObservation]) -> str:
    """How often it was seen, and how often it had moved."""
    n, moved = len(visits), sum(_is_changed(v) for v in visits)
    if n == 1:
        return "was seen by one survey so far"
    times = {0: "did not change", 1: "changed once", 2: "changed twice"}
    shown = times.get(moved, f"changed {formatting.count(moved)} times")
    return f"{shown} over {formatting.count(n)} surveys"


def _is_changed(visit: domain_history.DomainObservation) -> bool:
    return bool(visit.changes or visit.moved or visit.appeared or visit.vanished)


def _shown(visit: domain_history.DomainObservation) -> dict[str, Any]:
    changes = [
        {
            "title": TITLES[c.dimension],
            "won": [_member_text(c.dimension, key) for key in c.won],
            "lost": [_member_text(c.dimension, key) for key in c.lost],
        }
        for c in visit.changes
    ]
    state = {
        TITLES[kind]: [_member_text(kind, key) for key in members]
        for kind, members in visit.sets.items()
        if members
    }
    names = {
        "came": visit.appeared,
        "went": visit.vanished,
        "moved": visit.moved,
    }
    return {
        "visit": visit,
        "changes": changes,
        "state": state,
        "names": {k: v for k, v in names.items() if v},
        "is_changed": _is_changed(visit),
    }


def _member_text(kind: str, key: str) -> dict[str, Any]:
    """A member of a set with its provider, in words."""
    if kind == "name_servers":
        return {"provider": "", "text": key, "is_code": True}
    provider, text, is_code = formatting.set_members(kind, key)[0]
    return {"provider": provider, "text": text, "is_code": is_code}
