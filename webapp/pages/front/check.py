"""Check one domain without an account: its card, its badge, or how to have it measured."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_safe

from core.errors import BadInput
from tasks.audits.domain_card import DomainCard, find_card, read_domain
from webapp.pages.embeds.badges import Badge, Fill, days_old, respond_with_badge
from webapp.pages.surveys.domains import best_ranked, sentence
from webapp.pages.ui import formatting
from webapp.store.surveys import evidence, selectors

_FILLS = {"A": Fill.GOOD, "B": Fill.GOOD, "D": Fill.BAD, "E": Fill.BAD, "": Fill.UNKNOWN}
_KINDS = {"region": "region", "zone": "zone", "provider": "provider", "operator": "name servers"}
_OUTCOMES = {
    "finding": "",
    "pass": "pass",
    "not-judged": "not judged",
    "not-applicable": "does not apply",
}


@require_GET
def ask_domain(request: HttpRequest) -> HttpResponse:
    """The form alone; with a domain, on to its card."""
    text = request.GET.get("domain", "").strip()[:300]
    if not text:
        return render(request, "front/check.html", {"section": "check", **_examples(request.user)})
    try:
        domain = read_domain(text)
    except BadInput as error:
        context = {"section": "check", "text": text, "error": str(error)}
        return render(request, "front/check.html", context, status=422)
    return redirect("check-domain", domain=domain)


@require_GET
def card(request: HttpRequest, domain: str) -> HttpResponse:
    """The card of a domain by the newest survey that has it; else how to measure it."""
    normal, found = _find(domain, request.user)
    survey = selectors.survey(found.survey, request.user) if found else None
    if found is None or survey is None:
        return _show_missing(request, normal)
    profile = evidence.domain(found.survey, normal) or {}
    providers = sorted({host[0] for host in found.hosts})
    context = {
        "section": "check",
        "card": found,
        # The survey's own bar is not shown: the page belongs to the domain.
        "hide_survey_bar": True,
        "survey": survey,
        "sentence": sentence(profile, providers) if profile else "",
        "hosts": _hosts(found),
        "results": [{**r.as_json(), "word": _OUTCOMES[r.outcome]} for r in found.grade.results],
        "n_findings": sum(r.outcome == "finding" for r in found.grade.results),
        "outages": [_outage(e, found.survey) for e in found.exposures],
        "badge": request.build_absolute_uri(reverse("check-badge", args=[normal])),
    }
    return render(request, "front/card.html", context)


def _examples(reader: Any) -> dict[str, Any]:
    """Domains that have a card already."""
    survey = selectors.front_survey(reader)
    return {"survey": survey, "hide_survey_bar": True, "examples": best_ranked(reader)}


def _find(domain: str, reader: Any) -> tuple[str, DomainCard | None]:
    try:
        return find_card(domain, reader)
    except BadInput as error:
        raise Http404(str(error)) from error


def _show_missing(request: HttpRequest, domain: str) -> HttpResponse:
    back = urlencode({"next": reverse("check-domain", args=[domain])})
    context = {
        "section": "check",
        "domain": domain,
        "may_measure": settings.ANONYMOUS_SURVEYS or request.user.is_authenticated,
        "sign_in": f"{reverse('sign-in')}?{back}",
    }
    return render(request, "front/unmeasured.html", context, status=404)


def _hosts(found: DomainCard) -> list[dict[str, Any]]:
    """Regions, then CDNs, by names."""
    return [
        {"provider": provider, "region": region, "kind": kind, "names": names}
        for provider, region, kind, names in found.hosts
    ]


def _outage(exposure: Any, slug: str) -> dict[str, Any]:
    query = {"kind": exposure.kind, "provider": exposure.provider, "target": exposure.target}
    params = urlencode({key: value for key, value in query.items() if value})
    is_provider = exposure.kind == "provider"
    return {
        "title": formatting.provider_name(exposure.target) if is_provider else exposure.target,
        "kind": _KINDS.get(exposure.kind, exposure.kind),
        "down": exposure.names if exposure.silent else exposure.down,
        "part": exposure.part,
        "names": exposure.names,
        "silent": exposure.silent,
        "href": f"{reverse('outages', args=[slug])}?{params}",
    }


@require_safe
def badge(request: HttpRequest, domain: str) -> HttpResponse:
    """The grade of a domain and the age of what it rests on."""
    normal, found = _find(domain, request.user)
    if found is None:
        raise Http404(f"no survey holds {normal}")
    survey = selectors.survey(found.survey, request.user)
    letter = found.grade.letter
    value = f"grade {letter}" if letter else "not graded"
    shown = Badge(
        normal, f"{value} · {days_old(found.observed_at)}", _FILLS.get(letter, Fill.PLAIN)
    )
    is_public = survey is not None and not survey.is_private
    return respond_with_badge(request, shown, is_public=is_public)
