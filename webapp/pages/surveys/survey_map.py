"""The map of a survey, its table and three findings."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

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
    """The map of one survey."""
    regions = selectors.map_regions(survey.slug)
    providers = selectors.report(survey.slug, "providers")
    context = {
        "section": "atlas",
        "survey": survey,
        "families": FAMILIES,
        "findings": [_finding(f, survey.slug) for f in selectors.front_findings(survey.slug)],
        "totals": _totals(providers),
        "regions": regions,
        "grid": _grid(regions, survey.slug),
        "legend": sorted({r["provider"] for r in regions}, key=formatting.provider_name),
        "map_data": {
            "regions": [_map_region(r, survey.slug) for r in regions],
            "tiles": settings.MAP_TILES_URL,
            "credit": settings.MAP_TILES_CREDIT,
        },
    }
    return render(request, "surveys/map/index.html", context)


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


def _grid(regions: list[dict[str, Any]], slug: str) -> Grid:
    rows = sorted(regions, key=lambda r: -r["subdomains"])
    return Grid("map-regions", "Regions on the map", _COLUMNS, tuple(_row(r, slug) for r in rows))


def _row(region: dict[str, Any], slug: str) -> Row:
    spot = _map_region(region, slug)
    part, only = region["subdomains_share"], region["only_here_share"]
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
            Cell(spot["subdomains_share"], part, "share", bar=part),
            Cell(spot["only_here_share"], only, "count", is_spare=True),
        )
    )
