"""Every pair of a vantage point and a region in one table of shades and numbers, page by page."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame, frame_or_404, paginate
from webapp.pages.campaigns.headlines import grid_sentence
from webapp.pages.ui import formatting
from webapp.pages.ui.links import with_query
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places
from webapp.store.ranges.region_places import place_name

Row = dict[str, Any]
# What may be shown in the cells, with its name.
SHOWN = {
    "p50": "Median",
    "p95": "p95",
    "p99": "p99",
    "mean": "Mean",
    "sd": "Spread",
    "loss": "Lost",
    "n": "Values",
}
VANTAGES_A_PAGE, REGIONS_A_PAGE = 80, 12


@require_GET
def grid(request: HttpRequest, slug: str) -> HttpResponse:
    """One figure of every pair; sorted by name or by any region, either way."""
    frame = frame_or_404(request, slug)
    figure = request.GET.get("show", "p50")
    figure = figure if figure in SHOWN else "p50"
    regions = _regions(frame)
    names, sort = _names(request, frame, figure, regions)
    page, across = paginate(request, len(names), VANTAGES_A_PAGE), _across(request, regions)
    first = (page["page"] - 1) * VANTAGES_A_PAGE
    shown = names[first : first + VANTAGES_A_PAGE]
    columns = regions[across["first"] : across["first"] + REGIONS_A_PAGE]
    more = {
        "table": _table(frame, shown, columns, figure),
        "heads": [_head(request, region, sort) for region in columns],
        "by_name": with_query(request, sort="", down="", page=""),
        "sort": sort,
        "figure": figure,
        "shown": [(k, t, with_query(request, show=k, page="")) for k, t in SHOWN.items()],
        "sentence": grid_sentence(frame, figure) if names else "",
        "legend": campaign_formatting.legend(_scale(frame.metric.id, figure)),
        "unit": "" if figure == "loss" else frame.metric.unit,
        "n_vantages": len(names),
        "n_regions": len(regions),
        "pager": page,
        "params": _params(request),
        "across": across,
        "q": request.GET.get("q", "")[:80],
    }
    return render(request, "campaigns/grid.html", frame.context(request, **more))


def _scale(metric: str, figure: str) -> str:
    """Which shades a figure has; numbers of values and spreads have none."""
    return "loss" if figure == "loss" else "" if figure in ("n", "sd") else metric


def _regions(frame: Frame) -> list[str]:
    stored = selectors.some_tables(frame.row, f"{frame.metric.id}-regions")
    return [r["region"] for t in stored.values() for r in t.dicts()]


def _names(
    request: HttpRequest, frame: Frame, figure: str, regions: list[str]
) -> tuple[list[str], Row]:
    """Vantage points in the order that is requested, and what that order is."""
    by, down = request.GET.get("sort", ""), bool(request.GET.get("down"))
    metric = frame.metric.id
    if by in regions:
        names = selectors.grid_vantages(
            frame.row, metric, region=by, figure=figure, descending=down
        )
    else:
        by, names = "", selectors.grid_vantages(frame.row, metric)
    wanted = request.GET.get("q", "").strip().casefold()[:80]
    if wanted:
        known = vantage_places(frame.row, names)
        names = [n for n in names if wanted in _searched(n, known)]
    return names, {"by": by, "down": down}


def _searched(name: str, known: dict[str, Any]) -> str:
    point = known.get(name)
    place_text = (
        f" {point.city} {point.country} {point.continent} {point.provider}" if point else ""
    )
    return (name + place_text).casefold()


def _across(request: HttpRequest, regions: list[str]) -> Row:
    """Which regions fit; the others are a page away."""
    pages = max(1, -(-len(regions) // REGIONS_A_PAGE))
    text = request.GET.get("regions", "1")
    at = min(max(int(text), 1), pages) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    return {
        "first": (at - 1) * REGIONS_A_PAGE,
        "page": at,
        "pages": pages,
        "before": with_query(request, regions=at - 1) if at > 1 else "",
        "after": with_query(request, regions=at + 1) if at < pages else "",
    }


def _head(request: HttpRequest, region: str, sort: Row) -> Row:
    is_by = sort["by"] == region
    again = with_query(
        request, sort=region, down="1" if is_by and not sort["down"] else "", page=""
    )
    order = ("descending" if sort["down"] else "ascending") if is_by else ""
    return {"region": region, "place": place_name(region), "href": again, "order": order}


def _params(request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()


def _table(
    frame: Frame, vantages: Sequence[str], regions: Sequence[str], figure: str
) -> SafeString:
    """The rows as HTML: a template would take a tenth of a millisecond for each cell."""
    columns = list(dict.fromkeys(["vantage", "region", "n", "sent", "lost", figure]))
    equal = {"vantage": list(vantages)}
    found = selectors.read_table(frame.row, f"{frame.metric.id}-grid", columns, equal)
    cells = {(r["vantage"], r["region"]): r for r in found.to_pylist()}
    points = vantage_places(frame.row, vantages)
    base = reverse("campaign-grid", args=[frame.row.slug]).removesuffix("grid/") + "pairs/"
    rows = []
    for name in vantages:
        inner = "".join(
            _cell(frame.metric.id, figure, cells.get((name, r)), f"{base}{name}/{r}/")
            for r in regions
        )
        rows.append(f"<tr>{_row_head(name, points.get(name))}{inner}</tr>")
    return mark_safe("".join(rows))


def _row_head(name: str, point: Any) -> str:
    city = escape(point.city or name) if point else escape(name)
    country = f' <small class="note">{escape(point.country)}</small>' if point else ""
    return f'<th scope="row" title="{escape(name)}"><bdi>{city}</bdi>{country}</th>'


def _cell(metric: str, figure: str, cell: Row | None, href: str) -> str:
    if cell is None or (cell["n"] == 0 and figure not in ("loss", "n")):
        text = "not asked" if cell is None else f"no answer to {cell['lost']}"
        inner = f'<span aria-hidden="true">–</span><span class="visually-hidden">{text}</span>'
        link = inner if cell is None else f'<a href="{escape(href)}?metric={metric}">{inner}</a>'
        return f'<td class="heat heat--none" title="{text}">{link}</td>'
    value = cell[figure]
    scale = _scale(metric, figure)
    shade = campaign_formatting.shade(scale, value) if scale else 0
    text = _text(metric, figure, cell)
    return (
        f'<td class="heat heat--{shade}"><a href="{escape(href)}?metric={metric}">{text}</a></td>'
    )


def _text(metric: str, figure: str, cell: Row) -> str:
    if figure == "loss":
        return formatting.share_of(cell["loss"], cell["sent"])
    return (
        formatting.count(cell["n"])
        if figure == "n"
        else campaign_formatting.bare(metric, cell[figure])
    )
