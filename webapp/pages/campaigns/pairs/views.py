"""One pair of a vantage point and a region: its timeline, its failures and every raw sample."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame, frame_or_404, paginate, round_start
from webapp.pages.campaigns.pairs import timeline
from webapp.pages.campaigns.pairs.changes import mark_changes, read_changes
from webapp.store.campaigns import samples as campaign_samples
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
ROUNDS_A_PAGE, SAMPLES_A_PAGE = 48, 100


@require_GET
def pair(request: HttpRequest, slug: str, vantage: str, region: str) -> HttpResponse:
    """Show the values of a pair round by round."""
    frame = frame_or_404(request, slug)
    equal = {"vantage": vantage, "region": region}
    cell = _only_row_or_404(
        selectors.read_table(frame.row, f"{frame.metric.id}-grid", None, equal).to_pylist()
    )
    rows = campaign_samples.read_rounds(frame.row, frame.metric.id, vantage, region)
    page = paginate(request, len(rows), ROUNDS_A_PAGE)
    first = (page["page"] - 1) * ROUNDS_A_PAGE
    regions = _column(frame, "region", vantage)
    names = selectors.grid_vantages(frame.row, frame.metric.id)
    beside = selectors.neighbours(names, vantage)
    known = vantage_places(frame.row, beside)
    hours = timeline.hourly_means(frame, rows)
    chart = timeline.round_means(rows)
    means = [hour["mean"] for hour in hours]
    more = {
        **pair_ends(frame, vantage, region),
        "cell": cell,
        "chart": chart,
        "losses": timeline.losses(rows),
        "changes": _changes(frame, vantage, region, chart),
        "days": timeline.day_ticks(frame, rows, chart),
        "hours": hours,
        "hour_ends": (min(means), max(means)) if means else None,
        "rounds": [_round(frame, r) for r in rows[first : first + ROUNDS_A_PAGE]],
        "n_rounds": len(rows),
        "pager": page,
        "params": f"metric={frame.metric.id}",
        "reasons": _reasons(frame, vantage, region),
        "beside": beside,
        "beside_names": [known[n].city if n in known and known[n].city else n for n in beside],
        "others": regions,
    }
    return render(request, "campaigns/pair.html", frame.context(request, **more))


def _changes(frame: Frame, vantage: str, region: str, chart: Row | None) -> list[Row]:
    """Shifts of the pair's latency in the order of time, with their place on the chart."""
    if frame.metric.id != "latency":
        return []
    found = read_changes(frame, vantage=vantage, region=region)
    return mark_changes(sorted(found, key=lambda row: row["round"]), chart)


def _only_row_or_404(rows: list[Row]) -> Row:
    if not rows:
        raise Http404("this pair was not measured")
    return rows[0]


def pair_ends(frame: Frame, vantage: str, region: str) -> Row:
    """The two ends of a pair, with where they stand."""
    point = vantage_places(frame.row, [vantage]).get(vantage)
    providers = [t.get("provider", "") for t in frame.row.targets if t.get("region") == region]
    places = selectors.places([(p, region) for p in providers[:1]])
    return {
        "vantage": vantage,
        "region": region,
        "point": point,
        "city": point.city if point and point.city else vantage,
        "place": places.get(region, {}),
    }


def _column(frame: Frame, key: str, vantage: str) -> list[Row]:
    """All regions of a vantage point, the best first: what this pair is held against."""
    columns = ["region", "p50", "n"]
    table = selectors.read_table(
        frame.row, f"{frame.metric.id}-grid", columns, {"vantage": vantage}
    )
    rows = [
        {**r, "shade": campaign_formatting.shade(frame.metric.id, r["p50"])}
        for r in table.to_pylist()
    ]
    sign = -1 if frame.metric.higher_is_better else 1
    return sorted(rows, key=lambda r: (r["p50"] is None, sign * (r["p50"] or 0)))


def _round(frame: Frame, row: Row) -> Row:
    return {**row, "moment": round_start(frame.row, row["round"])}


def _reasons(frame: Frame, vantage: str, region: str) -> list[Row]:
    found = campaign_samples.reasons(frame.row, frame.metric.id, vantage, region)
    return [{"reason": campaign_formatting.reason(status), "runs": runs} for status, runs in found]


@require_GET
def samples(request: HttpRequest, slug: str, vantage: str, region: str) -> HttpResponse:
    """Every raw sample of a pair, of all rounds or of one."""
    frame = frame_or_404(request, slug)
    text = request.GET.get("round", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
    found = campaign_samples.read_samples(frame.row, vantage, region, number)
    page = paginate(request, len(found), SAMPLES_A_PAGE)
    first = (page["page"] - 1) * SAMPLES_A_PAGE
    query = f"metric={frame.metric.id}" + (f"&round={number}" if number is not None else "")
    more = {
        **pair_ends(frame, vantage, region),
        "rows": [_sample(r) for r in found[first : first + SAMPLES_A_PAGE]],
        "total": len(found),
        "number": number,
        "exported": urlencode(
            {"vantage": vantage, "region": region} | ({} if number is None else {"round": number})
        ),
        "pager": page,
        "params": query,
    }
    return render(request, "campaigns/samples.html", frame.context(request, **more))


def _sample(row: Row) -> Row:
    metric = "throughput" if "throughput" in row["probe"] else "latency"
    listed = ", ".join(campaign_formatting.bare(metric, v) for v in row["values"] or [])
    unit = campaign_formatting.METRICS[metric].unit
    return {**row, "told": f"{listed} {unit}" if listed else "", "why": _why(row)}


def _why(row: Row) -> str:
    if row["status"] == "OK":
        lost = row["sent"] - len(row["values"] or [])
        return f"{lost} of {row['sent']} lost" if lost else ""
    return row["reason"] or campaign_formatting.reason(row["status"])
