"""Badges of surveys and of their domains."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp.pages.embeds.badges import Badge, Fill, days_old, respond_with_badge
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.store.surveys import evidence
from webapp.store.surveys.selectors import SurveyRow


@require_safe
def survey_badge(request: HttpRequest, slug: str) -> HttpResponse:
    """Numbers of domains and of names in a cloud, and the age of the survey."""
    survey = survey_or_404(request, slug)
    return respond_with_badge(request, _of_survey(survey), is_public=not survey.is_private)


def _of_survey(survey: SurveyRow) -> Badge:
    names, domains = survey.summary.get("names"), f"{survey.n_domains:,} domains"
    if not names:
        return Badge("survey", f"{domains}, {formatting.state(survey.state).lower()}", Fill.UNKNOWN)
    cloud = f"{names['cloud']:,} of {names['resolved']:,} names in a cloud"
    return Badge("survey", f"{domains}, {cloud} · {days_old(survey.finished_at)}")


@require_safe
def domain_badge(request: HttpRequest, slug: str, domain: str) -> HttpResponse:
    """Clouds and regions of a domain, and the age of the survey."""
    survey = survey_or_404(request, slug)
    found = evidence.domain(slug, domain)
    if found is None:
        raise Http404(f"no domain {domain}")
    badge = _of_domain(survey, found)
    return respond_with_badge(request, badge, is_public=not survey.is_private)


def _of_domain(survey: SurveyRow, found: dict[str, Any]) -> Badge:
    labels = [row for row in found["labels"] if row["label"] not in evidence.LOST_LABELS]
    clouds = [formatting.provider_name(p) for p in sorted({row["provider"] for row in labels})]
    regions = [row["region"] for row in found["depends"]]
    parts = [", ".join(clouds) or "no known cloud"]
    if regions:
        parts.append(regions[0] if len(regions) == 1 else f"{len(regions)} regions")
    text = f"{', '.join(parts)} · {days_old(survey.finished_at)}"
    return Badge(found["domain"], text, Fill.PLAIN if clouds else Fill.UNKNOWN)
