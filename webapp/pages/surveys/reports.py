"""The report pages of a survey."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_safe

from webapp.pages.embeds.framing import framable
from webapp.pages.surveys import then_now
from webapp.pages.ui.charts.chart_options import chart_of
from webapp.pages.ui.page_cache import cached_page
from webapp.pages.ui.report_families import FAMILIES, FAMILY_BY_SLUG, Family, neighbours
from webapp.pages.ui.table_page import place_names, report_grid
from webapp.store.surveys import selectors, snapshots


def survey_or_404(request: HttpRequest, slug: str) -> selectors.SurveyRow:
    """The survey of an address, where its reader may see it."""
    survey = selectors.read_survey(request, slug)
    if survey is None:
        raise Http404(f"no survey {slug}")
    return survey


@require_GET
@cached_page
def report(request: HttpRequest, slug: str, page: str) -> HttpResponse:
    """One family of tables; the first carries the headline."""
    survey = survey_or_404(request, slug)
    family = _family_or_404(page)
    stored, pinned = _tables(request, slug)
    # Pinned tables stay as they are: nothing later or earlier is set beside them.
    earlier: list[selectors.SurveyRow] = []
    is_published = any(t in stored and stored[t].published for t in family.tables)
    if not pinned:
        stored, earlier = then_now.compare_tables(request, slug, stored)
    sections = [section(stored[t], slug) for t in family.tables if t in stored]
    before, after = neighbours(family)
    context = {
        "section": "reports",
        "survey": survey,
        "families": FAMILIES,
        "family": family,
        "sections": sections,
        "lead": sections[0] if sections else None,
        "lens": then_now.build_lens(
            request, sections[0]["report"], earlier, is_published=is_published
        )
        if sections and not pinned
        else None,
        "notes": _notes(family, stored),
        "before": before,
        "after": after,
        "charts": [s["chart"] for s in sections if s["chart"]],
        "snapshot": pinned,
        "snapshot_id": pinned or snapshots.identify(stored),
    }
    status = 200 if sections or survey.is_final else 202
    return render(request, "surveys/reports/page.html", context, status=status)


def _notes(family: Family, stored: dict[str, selectors.ReportRow]) -> list[dict[str, Any]]:
    """The notes beside the main chart, each with the report that has details."""
    lead = family.tables[0]
    if lead not in stored:
        return []
    found = selectors.marginal_notes(lead, stored.values())
    return [{"note": note, "more": FAMILY_BY_SLUG.get(note.page)} for note in found]


def _family_or_404(page: str) -> Family:
    family = FAMILY_BY_SLUG.get(page)
    if family is None:
        raise Http404(f"no report {page}")
    return family


@framable("survey")
@require_safe
@cached_page
def embed(request: HttpRequest, slug: str, page: str) -> HttpResponse:
    """Headline and chart of a family's first table, for a frame of another site."""
    survey = survey_or_404(request, slug)
    family = _family_or_404(page)
    stored, pinned = _tables(request, slug)
    lead = next((section(stored[t], slug) for t in family.tables if t in stored), None)
    if lead is None:
        raise Http404(f"report {page} is not there yet")
    address = reverse("report", args=(slug, page))
    context = {
        "survey": survey,
        "lead": lead,
        "charts": [lead["chart"]] if lead["chart"] else [],
        "address": f"{address}?{urlencode({'snapshot': pinned})}" if pinned else address,
    }
    return render(request, "embeds/report.html", context)


def _tables(request: HttpRequest, slug: str) -> tuple[dict[str, selectors.ReportRow], str]:
    """The tables as they are, or as they were pinned, and under which id."""
    pinned = request.GET.get("snapshot", "")
    if not pinned:
        return selectors.reports(slug), ""
    found = snapshots.open_snapshot(slug, pinned)
    if found is None:
        raise Http404(f"no snapshot {pinned!r} of {slug}")
    return found, pinned


def section(found: selectors.ReportRow, slug: str) -> dict[str, Any]:
    """One table with its chart, its headline and where they come from."""
    needs_places = "region" in found.columns
    places = place_names(selectors.map_regions(slug)) if needs_places else {}
    return {
        "report": found,
        "grid": report_grid(found, slug, places),
        "chart": chart_of(found),
    }
