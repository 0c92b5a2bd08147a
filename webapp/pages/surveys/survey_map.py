"""The map of a survey, its table and three findings."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from webapp.pages.surveys import then_now
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.report_families import FAMILIES, FAMILY_OF_TABLE
from webapp.pages.ui.table_page import Cell, Column, Grid, Row, outage_href
from webapp.store.surveys import selectors


@require_GET
def survey_map(request: HttpRequest, slug: str) -> HttpResponse:
    """The map of one survey."""
    return show_map(request, survey_or_404(request, slug))


def show_map(request: HttpRequest, survey: selectors.SurveyRow) -> HttpResponse:
    """The map of one survey, beside an earlier one with ``?then=``."""
    regions = selectors.map_regions(survey.slug)
    lens, earlier = _lens(request, survey.slug)
    if earlier:
        regions = _with_earlier(regions, selectors.map_regions(earlier))
    providers = selectors.report(survey.slug, "providers")
    context = {
        "section": "atlas",
        "survey": survey,
        "families": FAMILIES,
        "findings": [_finding(f, survey.slug) for f in selectors.front_findings(survey.slug)],
        "totals": _totals(providers),
        "regions": regions,
        "lens": lens,
        "grid": _grid(regions, survey.slug, lens["reference"].label if lens and earlier else ""),
        "legend": sorted({r["provider"] for r in regions}, key=formatting.provider_name),
        "map_data": {
            "regions": [_map_region(r, survey.slug) for r in regions],
            "tiles": settings.MAP_TILES_URL,
            "credit": settings.MAP_TILES_CREDIT,
        },
    }
    return render(request, "surveys/map/index.html", context)


def _lens(request: HttpRequest, slug: str) -> tuple[then_now.Lens | None, str]:
    """The surveys to compare with, and the one that is chosen."""
    report = selectors.report(slug, "regions")
    if report is None:
        return None, ""
    # The published figures are not of this list of regions alone; they stay in the report.
    bare = {"regions": replace(report, published=None, reference=None)}
    stored, earlier = then_now.compare_tables(request, slug, bare)
    lens = then_now.build_lens(request, stored["regions"], earlier, is_published=False)
    chosen = lens["then"] if lens and lens["reference"] else ""
    return lens, chosen


def _with_earlier(now: list[dict[str, Any]], was: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Regions with their earlier number of subdomains, ``then``; regions left since have 0."""
    before = {(r["provider"], r["region"]): r for r in was}
    found = [
        {**r, "then": before.pop((r["provider"], r["region"]), {}).get("subdomains", 0)}
        for r in now
    ]
    nothing = {"subdomains": 0, "domains": 0, "only_here": 0}
    unknown = {"subdomains_share": None, "only_here_share": None}
    left = [{**r, **nothing, **unknown, "then": r["subdomains"]} for r in before.values()]
    return found + left


def _finding(found: dict[str, str], slug: str) -> dict[str, str]:
    family = FAMILY_OF_TABLE[found["table_id"]]
    href = reverse("report", args=[slug, family.slug])
    return {**found, "href": f"{href}#{found['table_id']}", "title": family.title}


def _totals(report: selectors.ReportRow | None) -> dict[str, Any]:
    """Domains and subdomains that use any cloud."""
    if report is None or not report.rows:
        return {}
    return dict(zip(report.columns, report.rows[-1], strict=True))


def _map_region(region: dict[str, Any], slug: str) -> dict[str, Any]:
    href = reverse("report", args=[slug, "regions"])
    return {
        **region,
        "subdomains_share": formatting.share_of(region["subdomains_share"], _whole_of(region)),
        "only_here_share": formatting.share_of(region["only_here_share"], region["subdomains"]),
        "key": f"{region['provider']}.{region['region']}",
        "name": formatting.provider_name(region["provider"]),
        "letter": formatting.provider_letter(region["provider"]),
        "href": f"{href}#{region['provider']}.{region['region']}",
        "outage": outage_href(slug, "region", region["provider"], region["region"]),
    }


def _whole_of(region: dict[str, Any]) -> int | None:
    """The subdomains of the region's provider, by the region's own count and its share of them."""
    part = region["subdomains_share"]
    return round(region["subdomains"] / part) if part else None


_COLUMNS = (
    Column("region", "Region"),
    Column("place", "Place"),
    Column("domains", "Domains", numeric=True, is_spare=True),
    Column("subdomains", "Subdomains", numeric=True),
    Column("share", "Share of its provider", numeric=True),
    Column("only", "Only here", numeric=True, is_spare=True),
)
# The earlier number of subdomains follows the present one.
_AT = 4


def _grid(regions: list[dict[str, Any]], slug: str, then: str) -> Grid:
    """The table of the map; ``then`` is the heading of the earlier survey's column, or empty."""
    rows = sorted(regions, key=lambda r: -r["subdomains"])
    earlier = (Column("then", then, numeric=True, muted=True),) if then else ()
    rest = [replace(c, is_spare=c.is_spare or bool(then)) for c in _COLUMNS[_AT:]]
    columns = (*_COLUMNS[:_AT], *earlier, *rest)
    return Grid("map-regions", "Regions on the map", columns, tuple(_row(r, slug) for r in rows))


def _row(region: dict[str, Any], slug: str) -> Row:
    spot = _map_region(region, slug)
    part, only = region["subdomains_share"], region["only_here_share"]
    then = region.get("then")
    earlier = () if then is None else (Cell(formatting.count(then), then, "muted"),)
    return Row(
        (
            Cell(
                region["region"],
                region["region"],
                kind="region",
                href=spot["href"],
                key=spot["key"],
                sub=region["place"],
                tags=(region["provider"],),
            ),
            Cell(f"{region['place']}, {region['country']}".rstrip(", "), region["place"], "place"),
            Cell(formatting.count(region["domains"]), region["domains"], "count", is_spare=True),
            Cell(formatting.count(region["subdomains"]), region["subdomains"], "count"),
            *earlier,
            # With an earlier number, the share does not fit the width of a phone.
            Cell(spot["subdomains_share"], part, "share", bar=part, is_spare=then is not None),
            Cell(spot["only_here_share"], only, "count", is_spare=True),
        )
    )
