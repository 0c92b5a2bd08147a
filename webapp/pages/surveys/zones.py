"""The zones of a survey: what they are inferred from, how sure they are, how to measure them."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.errors import BadInput
from tasks.zones import celery_tasks, crowding
from tasks.zones.campaign import measurable, measure
from webapp.pages.surveys.domains import place_value
from webapp.pages.surveys.forms import act_as_manager, is_manager, sent_file
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.report_families import FAMILIES, FAMILY_BY_SLUG
from webapp.pages.ui.table_page import Cell, Column, Grid, Row
from webapp.store.campaigns import selectors as campaign_selectors
from webapp.store.models import Survey, ZoneInference, ZoneSource
from webapp.store.surveys.index import full_zone
from webapp.store.zones import services

_REGIONS = (
    Column("region", "Region"),
    Column("targets", "Addresses", numeric=True),
    Column("coverage", "With a zone", numeric=True),
    Column("proximity", "By address", numeric=True, is_spare=True),
    Column("latency", "By round-trip time", numeric=True, is_spare=True),
    Column("error", "Expected error", numeric=True, is_spare=True),
    Column("unknown", "Most common reason without", is_spare=True),
)
_ACCOUNTS = (
    Column("region", "Region"),
    Column("account", "Account"),
    Column("labels", "Labels and common zones"),
    Column("basis", "By", is_spare=True),
    Column("margin", "Smallest margin", numeric=True),
)
_CROWDED = (
    Column("zone", "Zone"),
    Column("domains", "Domains", numeric=True),
    Column("share", "Of its region", numeric=True),
    Column("interval", "95 % interval", numeric=True, is_spare=True),
    Column("even", "If even", numeric=True, is_spare=True),
    Column("only_here", "Names only here", numeric=True, is_spare=True),
)
# Zones that are listed, those with most domains first; the API lists all.
_MOST_CROWDED = 60
KINDS = (
    ("samples", "Own instances: account, zone, internal address"),
    ("targets", "Internal addresses of targets"),
    ("rtts", "Round-trip times from probes in zones"),
    ("zone_ids", "AZ IDs of an account’s labels"),
)


@never_cache
@require_http_methods(["GET", "POST"])
def zones(request: HttpRequest, slug: str) -> HttpResponse:
    """Coverage, sources and accounts; managers of the survey add, measure and remove."""
    shown = survey_or_404(request, slug)
    survey = Survey.objects.get(slug=slug)
    is_own = is_manager(request, survey)
    error = act_as_manager(request, survey, _act) if request.method == "POST" else ""
    if request.method == "POST" and not error:
        return redirect("survey-zones", slug=slug)
    row, known = services.inference(survey), crowding.known_zones(slug)
    context = {
        "section": "reports",
        "family": FAMILY_BY_SLUG["zones"],
        "survey": shown,
        "families": FAMILIES,
        "is_own": is_own,
        "row": row,
        "headline": headline(row, bool(known)),
        "total": row.summary.get("total") if row else None,
        "grid": _regions(row) if row and row.summary else None,
        "unmeasured": _unmeasured(row),
        **_crowded(slug, known),
        "accounts": _accounts(row) if row and row.summary and is_own else None,
        "sources": [_source(s, request) for s in services.sources(survey)],
        "measurable": _measurable(survey, request.user) if is_own and survey.is_final else [],
        "kinds": KINDS,
        "error": error,
    }
    return render(request, "surveys/zones.html", context, status=422 if error else 200)


def _act(request: HttpRequest, survey: Survey) -> None:
    """One of the buttons of the page; raises ``BadInput`` and other errors to show."""
    action = request.POST.get("action", "")
    if action == "upload":
        celery_tasks.add_file(survey, request.POST.get("kind", ""), *sent_file(request))
    elif action == "measure":
        measure(survey, request.user)
    elif action == "infer":
        celery_tasks.request(survey)
    elif action == "remove":
        number = request.POST.get("source", "")
        services.remove_source(survey, int(number) if number.isdecimal() else 0)
        celery_tasks.request(survey)
    else:
        raise BadInput(f"{action!r} is no action of this page")


def headline(row: ZoneInference | None, has_zones: bool) -> str:
    """The finding of an inference in a sentence; what is known where there is none."""
    total: Mapping[str, Any] = row.summary.get("total", {}) if row else {}
    if not total and has_zones:
        return "The zones of this survey’s addresses came with it and were not measured here"
    if not total:
        return "The zones of this survey’s addresses are not measured yet"
    share = formatting.share_of(total["coverage"], total["targets"])
    return f"{share} of {formatting.count(total['targets'])} addresses have a known zone"


def _regions(row: ZoneInference) -> Grid:
    rows = []
    measured = [r for r in row.summary["regions"] if r["identified"]]
    for found in sorted(measured, key=lambda r: -r["targets"]):
        n, error = found["targets"], found["expected_error"]
        cells = (
            Cell(found["region"], found["region"]),
            Cell(formatting.count(n), n, kind="count"),
            _share(found["coverage"], n),
            _share(found["coverage_by_proximity"], n, is_spare=True),
            _share(found["coverage_by_latency"], n, is_spare=True),
            _error(error),
            Cell(_most_common(found["unknown"]), is_spare=True),
        )
        rows.append(Row(cells, anchor=found["region"]))
    return Grid("zone-regions", "Zones by region", _REGIONS, tuple(rows))


def _crowded(slug: str, known: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The finding on crowded zones, and their table."""
    rows = crowding.crowded_zones(known)
    if not rows:
        return {}
    regions = {(row["provider"], row["region"]) for row in rows}
    crowded = [row for row in rows if row["crowded"]]
    finding = (
        f"{formatting.count(len(crowded))} of {formatting.count(len(rows))} zones in "
        f"{formatting.count(len(regions))} region{'' if len(regions) == 1 else 's'} "
        f"{'has' if len(crowded) == 1 else 'have'} more domains than an even share"
    )
    shown = tuple(_crowded_row(slug, row) for row in rows[:_MOST_CROWDED])
    return {
        "crowding": finding,
        "crowded": Grid("crowded-zones", "Domains by zone", _CROWDED, shown),
        "unlisted": max(0, len(rows) - _MOST_CROWDED),
    }


def _crowded_row(slug: str, row: Mapping[str, Any]) -> Row:
    provider, region, zone = (str(row[k]) for k in ("provider", "region", "zone"))
    query = urlencode({"in": place_value(provider, region, zone)})
    href = f"{reverse('domains', args=[slug])}?{query}"
    low, high = (formatting.share(row[k]) for k in ("low", "high"))
    cells = (
        Cell(full_zone(region, zone), zone, "code", href=href, tags=(provider,)),
        Cell(formatting.count(row["domains"]), row["domains"], "count"),
        Cell(
            formatting.share_of(row["share"], row["n"]),
            row["share"],
            "share",
            bar=row["share"],
            mark=row["even"],
        ),
        Cell(f"{low} to {high}", row["low"], "muted", is_spare=True),
        Cell(formatting.share(row["even"]), row["even"], "muted", is_spare=True),
        Cell(formatting.count(row["only_here"]), row["only_here"] or 0, "count", is_spare=True),
    )
    return Row(cells, anchor=f"{provider}.{full_zone(region, zone)}".replace(" ", "-"))


def _unmeasured(row: ZoneInference | None) -> int:
    """Regions of the survey in which no address has a zone."""
    return sum(not r["identified"] for r in row.summary.get("regions", ())) if row else 0


def _share(value: float, n: int, is_spare: bool = False) -> Cell:
    return Cell(formatting.share_of(value, n), value, kind="count", is_spare=is_spare)


def _error(value: float | None) -> Cell:
    text = "–" if value is None else formatting.share(value)
    return Cell(text, value or 0, kind="count", is_spare=True)


def _most_common(unknown: Mapping[str, int]) -> str:
    if not unknown:
        return "–"
    reason, n = max(unknown.items(), key=lambda item: item[1])
    return f"{reason.replace('_', ' ')} ({formatting.count(n)})"


def _accounts(row: ZoneInference) -> Grid:
    rows = []
    for found in row.summary["accounts"]:
        region = found["region"]
        pairs = ", ".join(
            f"{label.removeprefix(region)} = {zone.removeprefix(region)}"
            for label, zone in sorted(found["zones"].items())
        )
        margins = list(found["margins"].values())
        cells = (
            Cell(found["region"], found["region"]),
            Cell(found["account"] or "–"),
            Cell(pairs or "open"),
            Cell(found["basis"], is_spare=True),
            Cell(
                f"{min(margins):.1f}" if margins else "–", min(margins, default=0.0), kind="count"
            ),
        )
        rows.append(Row(cells))
    return Grid("zone-accounts", "Labels of accounts", _ACCOUNTS, tuple(rows))


def _source(source: ZoneSource, request: HttpRequest) -> dict[str, Any]:
    """A source as it is listed; a campaign has a link where the reader may see it."""
    campaign = source.campaign and campaign_selectors.campaign(source.campaign.slug, request.user)
    return {"row": source, "campaign": campaign, "kind": dict(KINDS).get(source.kind, "Campaign")}


def _measurable(survey: Survey, user: Any) -> list[tuple[str, int]]:
    """Regions that vantage points in zones can measure, with their number."""
    return [(f"{p} {r}", len(names)) for (p, r), names in measurable(survey, user).items()]
