"""Two measurement campaigns side by side: what became nearer, what became farther."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.formatting import METRICS
from webapp.pages.campaigns.frame import Frame, frame_or_404
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
SHOWN_PAIRS = 20


@require_GET
def choose(request: HttpRequest) -> HttpResponse:
    """Which two; with both given, straight to their comparison."""
    found = selectors.campaigns(request.user)
    headlines = selectors.headlines(found)
    rows = [m for m in found if m.pk in headlines]
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    slugs = {m.slug for m in rows}
    if before in slugs and after in slugs and before != after:
        return redirect("campaigns-comparison", before=before, after=after)
    after = after if after in slugs else next((m.slug for m in rows), "")
    others = [m.slug for m in rows if m.slug != after]
    context = {
        "section": "campaigns",
        "rows": rows,
        "after": after,
        "before": before if before in others else next(iter(others), ""),
        "is_same": bool(before) and before == request.GET.get("after"),
    }
    return render(request, "campaigns/choose.html", context)


@require_GET
def comparison(request: HttpRequest, before: str, after: str) -> HttpResponse:
    """Regions and pairs of both, as far as both have them."""
    if before == after:
        raise Http404("a campaign is not compared with itself")
    frames = [frame_or_404(request, slug) for slug in (before, after)]
    common = [m for m in METRICS.values() if all(m in f.metrics for f in frames)]
    wanted = METRICS.get(request.GET.get("metric", ""))
    metric = wanted if wanted in common and wanted else next(iter(common), METRICS["latency"])
    regions = _regions(frames, metric.id)
    pairs = _pairs(frames, metric.id)
    context = {
        "section": "campaigns",
        "before": frames[0].row,
        "after": frames[1].row,
        "metric": metric,
        "common": common,
        "regions": regions,
        "isps": _isps(frames),
        "sentence": _sentence(regions, pairs, metric),
        "n_pairs": len(pairs),
        "pairs": pairs[:SHOWN_PAIRS],
        "api": f"/api/v1/wide-area-comparison/{before}/{after}",
    }
    return render(request, "campaigns/comparison.html", context)


def _regions(frames: list[Frame], metric: str) -> list[Row]:
    sides = []
    for frame in frames:
        stored = selectors.some_tables(frame.row, f"{metric}-regions")
        sides.append({r["region"]: r for t in stored.values() for r in t.dicts()})
    rows = []
    for region in sorted(sides[0].keys() | sides[1].keys()):
        was, now = (side.get(region, {}).get("vantage_mean") for side in sides)
        change = None if was is None or now is None else now - was
        rows.append(
            {
                "region": region,
                "was": was,
                "now": now,
                "change": change,
                "share": change / was if change is not None and was else None,
            }
        )
    return rows


def _pairs(frames: list[Frame], metric: str) -> list[Row]:
    """Pairs that both measured, the largest relative change of the median first."""
    found = selectors.changed_pairs(frames[0].row, frames[1].row, metric)
    names = vantage_places(frames[1].row, (r["vantage"] for r in found[:SHOWN_PAIRS]))
    for row in found[:SHOWN_PAIRS]:
        point = names.get(row["vantage"])
        row["city"] = point.city if point and point.city else row["vantage"]
    return found


def _isps(frames: list[Frame]) -> list[Row]:
    sides = []
    for frame in frames:
        stored = selectors.some_tables(frame.row, "isp-regions")
        sides.append({r["region"]: r for t in stored.values() for r in t.dicts()})
    return [
        {"region": region, "was": sides[0][region], "now": sides[1][region]}
        for region in sorted(sides[0].keys() & sides[1].keys())
    ]


def _sentence(regions: list[Row], pairs: list[Row], metric: campaign_formatting.Metric) -> str:
    """The finding, with its number."""
    if not pairs:
        return "The two campaigns have no pair in common"
    changed = [r for r in regions if r["change"] is not None]
    if not changed:
        return f"{len(pairs):,} pairs were measured both times"
    most = max(changed, key=lambda r: abs(r["change"]))
    if not most["change"]:
        return f"No region changed, over {len(pairs):,} pairs that both measured"
    verb = (
        ("faster" if most["change"] > 0 else "slower")
        if metric.higher_is_better
        else ("farther" if most["change"] > 0 else "nearer")
    )
    amount = campaign_formatting.amount(metric.id, abs(most["change"]))
    return f"{most['region']} is {amount} {verb}: the largest change of {len(changed)} regions"
