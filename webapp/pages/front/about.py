"""Pages about the product itself: methods, glossary, and every component of the interface."""

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.providers import PROVIDERS
from core.report_tables import SPECS
from webapp.pages.ui.glossary import group_terms, read_terms
from webapp.pages.ui.report_families import FAMILY_OF_TABLE
from webapp.pages.ui.table_page import Cell, Column, Grid, Row
from webapp.store.ranges import documents
from webapp.store.surveys import selectors

_SAMPLE_CHART = {
    "id": "sample",
    "kind": "bars",
    "height": 240,
    "labels": [
        {"text": "us-east-1", "provider": "aws", "unknown": False},
        {"text": "westeurope", "provider": "azure", "unknown": False},
        {"text": "No known pattern", "provider": "aws", "unknown": True},
    ],
    "panels": [
        {
            "title": "of subdomains",
            "values": [0.73, 0.18, 0.09],
            "published": [0.737, 0.184, None],
            "texts": ["73.0 %", "18.0 %", "9.0 %"],
            "few": [False, False, False],
        }
    ],
}
_SAMPLE_GRID = Grid(
    id="sample-table",
    caption="A table of three rows",
    columns=(
        Column("region", "Region"),
        Column("subdomains", "Subdomains", numeric=True),
        Column("share", "Share", numeric=True),
        Column("published", "2013", numeric=True, muted=True),
    ),
    rows=(
        Row(
            (
                Cell("us-east-1", "us-east-1", "mono", tags=("aws",)),
                Cell("521,681", 521681, "count"),
                Cell("73.0 %", 0.73, "share", bar=0.73, mark=0.80),
                Cell("80.0 %", 0.8, "muted"),
            )
        ),
        Row(
            (
                Cell("westeurope", "westeurope", "mono", tags=("azure",)),
                Cell("1,205", 1205, "count"),
                Cell("18.0 %", 0.18, "share", bar=0.18, mark=0.184),
                Cell("18.4 %", 0.184, "muted"),
            )
        ),
        Row(
            (
                Cell("a" * 63, "a" * 63, "mono", tags=("google",)),
                Cell("1", 1, "count"),
                Cell("–", -1, "share"),
                Cell("–", -1, "muted"),
            )
        ),
    ),
)


@require_GET
def about(request: HttpRequest) -> HttpResponse:
    """What is measured, and how each table is made."""
    survey = selectors.front_survey(request.user)
    reports = selectors.reports(survey.slug) if survey else {}
    context = {
        "section": "about",
        "entries": [
            (s, FAMILY_OF_TABLE[s.id], selectors.own_method(reports.get(s.id))) for s in SPECS
        ],
        "common": selectors.common_method() if reports else "",
        "shown": survey,
        "tables": documents.tables_with_age(timezone.now().date()),
    }
    return render(request, "about/about.html", context)


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """Every term of the pages with its definition."""
    context = {"section": "about", "groups": group_terms(), "n_terms": len(read_terms())}
    return render(request, "about/glossary.html", context)


@require_GET
def components(request: HttpRequest) -> HttpResponse:
    """Every component of the interface, alive."""
    counters = {
        "domains_done": 1204,
        "domains": 3200,
        "queries": 120_400,
        "estimated_queries": 320_000,
        "resolved": 18_211,
        "found": 19_004,
        "cloud": 7_230,
        "rate_qps": 4_120,
        "eta_s": 49,
        "failed": {"TIMEOUT": 41, "SERVFAIL": 12},
    }
    context = {
        "section": "about",
        "grid": _SAMPLE_GRID,
        "chart": _SAMPLE_CHART,
        "charts": [_SAMPLE_CHART],
        "counters": counters,
        "done_share": 0.376,
        "failed_sum": 53,
        "then": datetime(2013, 3, 29, tzinfo=UTC),
        "tones": _TONES,
        "providers": PROVIDERS,
        "states": ["queued", "running", "finished", "partial", "failed", "cancelled"],
    }
    return render(request, "about/components.html", context)


_TONES = [
    "paper",
    "surface",
    "sunken",
    "ink",
    "ink-2",
    "ink-3",
    "rule",
    "rule-strong",
    "accent",
    "signal",
    "good",
    "unknown",
    "aws",
    "azure",
    "google",
    "seq-1",
    "seq-2",
    "seq-3",
    "seq-4",
    "seq-5",
    "seq-6",
]
