"""One region as clients see it: latency by country, its ISPs and zones."""

from statistics import fmean
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns.frame import Frame, frame_or_404
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
SHOWN_SHARES = 40


@require_GET
def region(request: HttpRequest, slug: str, region: str) -> HttpResponse:
    """What is known of one region."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    names = (f"{metric}-regions", f"{metric}-zones", "isp-regions", "isp-shares", "isp-zones")
    stored = selectors.some_tables(frame.row, *names)
    tables = {
        name: [r for r in table.dicts() if r["region"] == region] for name, table in stored.items()
    }
    own = tables.get(names[0])
    if not own:
        raise Http404(f"no region {region}")
    countries, silent = _countries(frame, region)
    more = {
        **{"region": region, "own": own[0], "lead": stored[names[0]]},
        "place": selectors.places([(own[0]["provider"], region)]).get(region, {}),
        "isp": next(iter(tables.get("isp-regions", [])), None),
        "isp_shares": tables.get("isp-shares", [])[:SHOWN_SHARES],
        "zones": tables.get(f"{metric}-zones", []),
        "n_zones": len(tables.get("isp-zones", [])) or len(_zone_names(tables, metric)),
        "countries": countries,
        "silent": silent,
    }
    return render(request, "campaigns/region.html", frame.context(request, **more))


def _zone_names(tables: dict[str, list[Row]], metric: str) -> set[str]:
    return {r[k] for r in tables.get(f"{metric}-zones", []) for k in ("first", "second")}


def _countries(frame: Frame, region: str) -> tuple[list[Row], int]:
    """Return medians of vantage points by country, and the number without any answer."""
    columns = ["vantage", "sent", "lost", "n", "p50"]
    cells = selectors.read_table(
        frame.row, f"{frame.metric.id}-grid", columns, {"region": region}
    ).to_pylist()
    points = vantage_places(frame.row, (c["vantage"] for c in cells))
    groups: dict[tuple[str, str], list[Row]] = {}
    for cell in cells:
        point = points.get(cell["vantage"])
        key = (point.country or "–", point.continent) if point else ("–", "")
        groups.setdefault(key, []).append(cell)
    rows = [r for key, own in groups.items() if (r := _country(frame, key, own))]
    better = frame.metric.higher_is_better
    rows.sort(key=lambda r: r["mean"], reverse=better)
    return rows, sum(c["n"] == 0 for c in cells)


def _country(frame: Frame, key: tuple[str, str], own: list[Row]) -> Row | None:
    values = [c["p50"] for c in own if c["p50"] is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    ends = (high, low) if frame.metric.higher_is_better else (low, high)
    sent, lost = (sum(c[k] for c in own) for k in ("sent", "lost"))
    return {
        "country": key[0],
        "continent": key[1],
        "vantages": len(own),
        "mean": fmean(values),
        "best": ends[0],
        "worst": ends[1],
        "loss": lost / sent if sent else None,
        "sent": sent,
    }
