"""Measurement campaigns: their list, what each found, on a map and in a table, and its method."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from core import wording
from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.campaign_map import draw_map
from webapp.pages.campaigns.frame import Frame, frame_or_404, plan_figures
from webapp.pages.ui import formatting
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

# Tables with a finding, where each is shown, and what is above it.
_PAGES = (
    ("latency-regions", "campaign-regions", "", "Latency"),
    ("throughput-regions", "campaign-regions", "?metric=throughput", "Throughput"),
    ("latency-choice", "campaign-choice", "", "Choice over time"),
    ("throughput-choice", "campaign-choice", "?metric=throughput", "Choice, by throughput"),
    ("latency-zones", "campaign-zones", "", "Zones"),
    ("isp-regions", "campaign-isps", "", "ISP diversity"),
    ("isp-shares", "campaign-isps", "#shares", "Spread over ISPs"),
    ("isp-failures", "campaign-isps", "#what-if", "When an ISP fails"),
    ("failures", "campaign-failures", "", "Failures"),
)


@require_GET
def campaigns(request: HttpRequest) -> HttpResponse:
    """List the campaigns that the reader may see, with their findings."""
    found = selectors.campaigns(request.user)
    headlines = selectors.headlines(found)
    rows = [{"m": m, "facts": plan_figures(m), "headline": headlines.get(m.pk, "")} for m in found]
    comparable = [r["m"] for r in rows if r["headline"]]
    context = {"section": "campaigns", "rows": rows, "comparable": len(comparable) > 1}
    return render(request, "campaigns/list.html", context)


@require_GET
def campaign(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one campaign; the map shows the chosen region or vantage point."""
    frame = frame_or_404(request, slug)
    stored = selectors.some_tables(frame.row, *(page[0] for page in _PAGES))
    drawn = draw_map(request, frame, stored)
    more = {
        "stored": stored,
        "lead": stored.get(f"{frame.metric.id}-regions"),
        "figures": _figures(frame, stored),
        "findings": _findings(frame.row, stored),
        "coverage": _coverage(frame.row),
        "map": drawn,
        # The measurement of a new installation was generated as a whole, without a plan.
        "has_plan": bool(frame.row.predicted) or not frame.row.synthetic,
    }
    context = frame.context(request, **more)
    return render(request, "campaigns/campaign.html", context, status=200 if stored else 202)


def _figures(frame: Frame, stored: dict[str, selectors.StoredTable]) -> list[dict[str, Any]]:
    """The few numbers that matter, each with what it means."""
    made = []
    rows = _rows(stored, f"{frame.metric.id}-regions")
    known = [r for r in rows if r["vantage_mean"] is not None]
    if known:
        best = (max if frame.metric.higher_is_better else min)(
            known, key=lambda r: r["vantage_mean"]
        )
        value = campaign_formatting.amount(frame.metric.id, best["vantage_mean"])
        text = f"the mean of {best['vantages']} vantage points"
        if left_out := best.get("left_out"):
            text += f"; {formatting.count(left_out)} rounds without any answer are left out"
        made.append(_figure(best["region"], value, text))
    for choice in _rows(stored, f"{frame.metric.id}-choice"):
        if choice.get("differs_mean") is not None:
            text = "of rounds have another best region than the usual one"
            made.append(_figure("Choice moves", formatting.share(choice["differs_mean"]), text))
    lost, runs = (sum(r[k] for r in _rows(stored, "failures")) for k in ("failed", "runs"))
    if runs:
        text = f"of {formatting.count(runs)}" if runs >= wording.SMALL else "runs without a value"
        made.append(_figure("Failed runs", formatting.share_of(lost / runs, runs), text))
    isps = _rows(stored, "isp-regions")
    if isps:
        most, least = max(r["isps"] for r in isps), min(r["isps"] for r in isps)
        span = str(most) if most == least else f"{least} to {most}"
        made.append(_figure("ISPs a region", span, "at least: others carried no measured route"))
    return made


def _figure(name: str, value: str, text: str) -> dict[str, str]:
    return {"name": name, "value": value, "text": text}


def _rows(stored: dict[str, selectors.StoredTable], table_id: str) -> list[dict[str, Any]]:
    return stored[table_id].dicts() if table_id in stored else []


def _findings(row: Campaign, stored: dict[str, selectors.StoredTable]) -> list[dict[str, Any]]:
    return [
        {
            "kicker": kicker,
            "headline": stored[table_id].headline,
            "n": stored[table_id].n,
            "href": reverse(page, args=[row.slug]) + rest,
        }
        for table_id, page, rest, kicker in _PAGES
        if table_id in stored and stored[table_id].headline
    ]


def _coverage(row: Campaign) -> dict[str, Any]:
    """Return planned and measured slots from the campaign's summary."""
    coverage: dict[str, Any] = row.summary.get("coverage", {}) if row.summary else {}
    return coverage


@require_GET
def method(request: HttpRequest, slug: str) -> HttpResponse:
    """How it was measured, what was left out, and every table as a file."""
    frame = frame_or_404(request, slug)
    stored = selectors.tables(frame.row)
    large = [f"{m.id}-{name}" for m in frame.metrics for name in ("grid", "vantages", "rounds")]
    listed = [
        {"id": t.table_id, "n": len(t.rows), "headline": t.headline}
        for t in sorted(stored.values(), key=lambda t: t.table_id)
    ]
    more = {"listed": listed, "large": large}
    return render(request, "campaigns/method.html", frame.context(request, **more))
