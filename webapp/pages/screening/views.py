"""Pages of screening beside pools: the landing page, a log reader, shares of good machines."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import BadInput
from tasks.screening import good_shares, simulated_fleet, type_comparison, uploaded_log
from tasks.surveys.export import table_csv
from webapp.pages.screening.headlines import shares_headline
from webapp.pages.screening.plots import draw_error_rates, draw_percentiles, list_keys
from webapp.pages.ui.charts.svg import Axis
from webapp.pages.ui.formatting import span_of
from webapp.store.screening import selectors

MOST_CURVES = 8
# Groups on the page; the file has all.
MOST_GROUPS = 300
HOW_TO_PLACE = (
    "Agents report provider, region, zone and instance type where cloud-init or the firmware has "
    "them. Elsewhere, use the agent's options --region, --zone and --instance-type."
)
# Shares from 0 to 1 in the drawing of a cell.
_SHARES = Axis(0.0, 1.0, 4.0, 96.0)
_SHARE_COLUMNS = (
    *("group", "n", "good", "share", "low", "high", "pools", "effective"),
    *("p999_ms", "p999_low_ms", "p999_high_ms"),
)
_TYPE_COLUMNS = (
    *("provider", "group", "n", "tenants", "good", "share", "low", "high"),
    *("p999_ms", "p999_low_ms", "p999_high_ms", "published_at"),
)
HOW_TO_CONTRIBUTE = (
    "Accounts contribute in the settings of their pools. A type is shown from three accounts and "
    "twenty machines on."
)
NOTHING_PUBLISHED = "No instance type has machines of enough accounts yet"


@require_GET
def landing(request: HttpRequest) -> HttpResponse:
    """What screening answers, and the ways in."""
    found = simulated_fleet.simulate()
    calibration = found["calibration"]
    context = {
        "section": "screening",
        "tab": "landing",
        "fleet": found,
        "plot": draw_error_rates(
            {**calibration, "points": calibration["points"][:61]}, found["low"]
        ),
        "mine": selectors.list_pools(request.user)[:5] if request.user.is_authenticated else [],
    }
    return render(request, "screening/landing.html", context)


@require_http_methods(["GET", "POST"])
def read_log(request: HttpRequest) -> HttpResponse:
    """A log of another tool, read once and not kept."""
    context: dict[str, Any] = {"section": "screening", "tab": "logs"}
    context["most_mb"] = uploaded_log.MOST_BYTES // 1_000_000
    if request.method == "GET":
        return render(request, "screening/log.html", context)
    sent = request.FILES.get("log")
    try:
        if sent is None or sent.size is None:
            raise BadInput("choose a file")
        if sent.size > uploaded_log.MOST_BYTES:
            raise BadInput(f"a log has at most {context['most_mb']} MB here")
        rows = uploaded_log.summarise(bytes(sent.read()))
    except BadInput as error:
        return render(request, "screening/log.html", context | {"errors": [str(error)]}, status=422)
    context |= {"name": str(sent.name)[:120], "rows": rows, **_draw(rows)}
    return render(request, "screening/log.html", context)


def _draw(rows: list[dict[str, Any]]) -> dict[str, Any]:
    drawn = [(row["name"] or row["kind"], row["curve"]) for row in rows if row["curve"]]
    drawn = drawn[:MOST_CURVES]
    if not drawn:
        return {"plot": None}
    unit = "ms" if rows[0].get("in_ms") else rows[0]["unit"]
    return {
        "plot": draw_percentiles(drawn, unit),
        "keys": list_keys(drawn) if len(drawn) > 1 else [],
    }


@never_cache
@require_GET
def good_machines(request: HttpRequest) -> HttpResponse:
    """Share of good machines and jitter by region, zone, instance type or CPU model."""
    by = _dimension(request)
    table = good_shares.find_table(request.user, by)
    context = {
        "section": "screening",
        "tab": "shares",
        "kicker": f"By {good_shares.DIMENSIONS[by]}",
        "csv_url": f"{reverse('good-machines-file')}?by={by}",
        "json_url": f"/api/v1/screening/good-shares?by={by}",
        "table": table,
        "what": good_shares.DIMENSIONS[by],
        "dimensions": good_shares.DIMENSIONS.items(),
        "how_to_place": HOW_TO_PLACE,
        "headline": shares_headline(table.rows, good_shares.DIMENSIONS[by]),
        "rows": [format_share(row) for row in table.rows[:MOST_GROUPS]],
    }
    return render(request, "screening/good_machines.html", context)


@never_cache
@require_GET
def good_machines_file(request: HttpRequest) -> HttpResponse:
    """The same as CSV, all groups."""
    by = _dimension(request)
    rows = good_shares.find_table(request.user, by).rows
    return _csv(f"good-machines-by-{by}", _SHARE_COLUMNS, rows)


def _csv(name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> HttpResponse:
    text = table_csv(columns, [[row[column] for column in columns] for row in rows])
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


@require_GET
def instance_types(request: HttpRequest) -> HttpResponse:
    """Share of good machines and jitter by instance type, over tenants that contribute."""
    rows = type_comparison.list_rows()
    context = {
        "section": "screening",
        "tab": "shares",
        "kicker": "Instance types",
        "csv_url": reverse("instance-types-file"),
        "json_url": "/api/v1/screening/instance-types",
        "limits": type_comparison.LIMITS,
        "how_to_join": HOW_TO_CONTRIBUTE,
        "caption": "Instance types, best first",
        "headline": shares_headline(rows, "instance type") if rows else NOTHING_PUBLISHED,
        "machines": sum(row["n"] for row in rows),
        "rows": [format_share({**row, "pools": row["tenants"]}) for row in rows[:MOST_GROUPS]],
    }
    return render(request, "screening/instance_types.html", context)


@require_GET
def instance_types_file(request: HttpRequest) -> HttpResponse:
    """The same as CSV."""
    return _csv("instance-types", _TYPE_COLUMNS, type_comparison.list_rows())


def _dimension(request: HttpRequest) -> str:
    asked = request.GET.get("by", "region")
    if asked not in good_shares.DIMENSIONS:
        raise Http404("machines are grouped by region, zone, type or cpu")
    return asked


def format_share(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its interval as text and the coordinates of its drawing."""
    at = {name: _SHARES.at(row[name]) for name in ("low", "high", "share")}
    return {**row, "at": at, "interval": span_of(row["low"], row["high"], row["n"])}
