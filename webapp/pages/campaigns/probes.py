"""Reports of probes: every statistic by region, zone, hour and place, with its interval."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame, frame_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.charts.svg import Axis
from webapp.store.campaigns import probe_reports
from webapp.store.campaigns.places import vantage_places
from webapp.store.surveys.selectors import places as region_places

Row = dict[str, Any]
GROUPINGS = {"region": "Region", "zone": "Zone", "hour": "Hour (UTC)", "vantage": "Place"}
# These are of one region at a time.
_OF_ONE_REGION = ("hour", "vantage")
# Rows of the page; the file has all.
MAX_ROWS = 200
# Horizontal extent of the drawing of an interval.
_START, _END = 4.0, 96.0


@require_GET
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """List the reports of a campaign, with the best region of each."""
    frame = frame_or_404(request, slug)
    names = name_places(frame)
    rows = [_summary(frame, report, names) for report in probe_reports.list_reports(frame.row)]
    context = frame.context(request, rows=rows)
    return render(request, "campaigns/probes.html", context)


def _summary(frame: Frame, report: Any, names: Mapping[str, str]) -> Row:
    part = probe_reports.find_part(report, "")
    rows = _rows(frame, report, {"grouped_by": "region", "statistic": part.name})
    best = _best(part, rows)
    runs, sent, lost = (sum(row[key] for row in rows) for key in ("runs", "sent", "lost"))
    return {
        "title": report.title,
        "href": reverse("campaign-probe", args=[frame.row.slug, _name(report)]),
        "statistic": _words(part),
        "runs": runs,
        "lost": formatting.share_of(lost / sent if sent else None, sent),
        "region": best["region"] if best else "",
        "place": names.get(best["region"], "") if best else "",
        "figure": best["figure"] if best else formatting.NONE,
        "uses": ", ".join(limit.use for limit in report.limits),
    }


def _name(report: Any) -> str:
    return str(report.id).removeprefix(probe_reports.PREFIX)


@require_GET
def report(request: HttpRequest, slug: str, probe: str) -> HttpResponse:
    """One statistic of a probe by the chosen grouping, and the limits of uses."""
    frame = frame_or_404(request, slug)
    found = probe_reports.find_report(frame.row, probe)
    if found is None:
        raise Http404(f"no report of {probe}")
    part, by_region = _find_part(frame, found, request.GET.get("statistic", ""))
    grouping = _chosen(request, "by", GROUPINGS, "region")
    best = _best(part, by_region)
    regions = [row["region"] for row in by_region]
    region = _chosen(request, "region", regions, best["region"] if best else "")
    of_region = {"region": region} if grouping in _OF_ONE_REGION else {}
    rows = by_region
    if grouping != "region":
        keys = {"grouped_by": grouping, "statistic": part.name}
        rows = _rows(frame, found, {**keys, **of_region})
    names = name_places(frame)
    limits = [limit for limit in found.limits if limit.statistic == part.name]
    more = {
        "report": found,
        "name": _words(part),
        "headline": _headline(found, part, by_region, names),
        "rows": _drawn(frame, grouping, rows, (limits, names)),
        "total": len(rows),
        "n": sum(row["n"] for row in by_region),
        "statistics": [(other.name, _words(other)) for other in found.parts],
        "statistic": part.name,
        "groupings": GROUPINGS.items(),
        "grouping": grouping,
        "heading": GROUPINGS[grouping],
        "regions": [(key, names.get(key, "")) for key in regions],
        "region": region,
        "of_region": of_region.get("region", ""),
        "is_share": part in found.shares,
        "limits": limits,
    }
    return render(request, "campaigns/probe.html", frame.context(request, **more))


def _find_part(frame: Frame, found: Any, asked: str) -> tuple[Any, list[Row]]:
    """Return the chosen statistic, by default the first with values, and its rows by region."""
    leading = probe_reports.find_part(found, asked)
    for part in (leading,) if asked else (leading, *found.parts):
        rows = _rows(frame, found, {"grouped_by": "region", "statistic": part.name})
        if rows:
            return part, rows
    return leading, []


def name_places(frame: Frame) -> dict[str, str]:
    """Return the names of the campaign's regions, where they are known."""
    targets = {(target["provider"], target["region"]) for target in frame.row.targets}
    return {region: place for (_, region), place in region_places(targets).items()}


def _chosen(request: HttpRequest, key: str, known: Any, default: str) -> str:
    asked = request.GET.get(key, "")
    return asked if asked in known else default


def _words(part: Any) -> str:
    """Return the name of a statistic or share in words."""
    return str(part.title or part.name.replace("_", " "))


def _rows(frame: Frame, found: Any, equal: Row) -> list[Row]:
    """Return rows with their figure as text, in the order of the table."""
    rows = probe_reports.read_rows(frame.row, found, equal)
    return [{**row, **_texts(row)} for row in rows]


def _texts(row: Row) -> Row:
    """Return the figure of a row, the value that it is drawn at, and its interval as text."""
    is_share = row["share"] is not None
    value, low, high = (
        row[f"{'share' if is_share else 'p50'}{end}"] for end in ("", "_low", "_high")
    )
    ends = (write(low, row), write(high, row))
    figure = formatting.share_of(value, row["n"]) if is_share else write(value, row)
    return {
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "figure": figure,
        "interval": formatting.NONE if low is None else " to ".join(ends),
        "upper": formatting.NONE if is_share else write(row["p95"], row),
    }


def write(value: float | None, row: Row) -> str:
    """Return a value with the unit of its row."""
    if value is None or row["share"] is not None:
        return formatting.share(value)
    if row["unit"] == "ms":
        return campaign_formatting.milliseconds(value)
    if row["unit"] == "B/s":
        return campaign_formatting.rate(value)
    return f"{value:.1f}{formatting.THIN}{row['unit']}" if row["unit"] else f"{value:.1f}"


def _best(part: Any, rows: list[Row]) -> Row | None:
    """Return the row with the best value of a statistic or share."""
    known = [row for row in rows if row["value"] is not None]
    choose = max if part.higher_is_better else min
    return choose(known, key=lambda row: row["value"]) if known else None


def _headline(found: Any, part: Any, rows: list[Row], names: Mapping[str, str]) -> str:
    """Return the finding: the region with the best value."""
    best = _best(part, rows)
    if best is None:
        return f"{found.title} has no value: {_words(part)} is not known"
    place = names.get(best["region"], "")
    region = f"{place} ({best['region']})" if place else best["region"] or "the targets"
    what = _words(part) if best["share"] is not None else f"median {_words(part)}"
    text = f"{found.title}: the {what} for {region} is {best['figure']}"
    if len(rows) > 1:
        rank = "highest" if part.higher_is_better else "lowest"
        text += f", the {rank} of {len(rows)} regions"
    return text


def _drawn(
    frame: Frame, grouping: str, rows: list[Row], known: tuple[list[Any], Mapping[str, str]]
) -> list[Row]:
    """Return rows of the page with label and drawing; places by value, the best last known."""
    limits, names = known
    if grouping == "vantage":
        rows = sorted(rows, key=lambda row: (row["value"] is None, row["value"] or 0.0))
    shown = rows[:MAX_ROWS]
    cities = _cities(frame, shown) if grouping == "vantage" else {}
    axis = Axis(0.0, _most(shown, limits), _START, _END)
    return [
        {
            **row,
            **_label(grouping, row, names, cities),
            "at": _positions(axis, row, limits),
            "key": row["hour"] if grouping == "hour" else row[grouping],
        }
        for row in shown
    ]


def _cities(frame: Frame, rows: list[Row]) -> dict[str, str]:
    names = [row["vantage"] for row in rows]
    found = vantage_places(frame.row, names)
    return {name: found[name].city or name if name in found else name for name in names}


def _label(
    grouping: str, row: Row, names: Mapping[str, str], cities: Mapping[str, str]
) -> dict[str, str]:
    if grouping == "hour":
        hour = row["hour"]
        return {"label": "no time" if hour is None else f"{hour:02d}:00", "code": ""}
    if grouping == "vantage":
        return {"label": cities[row["vantage"]], "code": ""}
    place = names.get(row["region"], "")
    code = row["zone"] or row["region"] if grouping == "zone" else row["region"]
    return {"label": place or code or formatting.NONE, "code": code if place else ""}


def _most(rows: list[Row], limits: list[Any]) -> float:
    """Return the end of the axis: all intervals, 95th percentiles and limits are within it."""
    values = [v for row in rows for v in (row["high"], row["p95"]) if v is not None]
    return max([*values, *(limit.bound for limit in limits)], default=1.0) or 1.0


def _positions(axis: Axis, row: Row, limits: list[Any]) -> Row | None:
    if row["value"] is None:
        return None
    return {
        "low": axis.at(row["low"]),
        "high": axis.at(row["high"]),
        "share": axis.at(row["value"]),
        "upper": None if row["p95"] is None else axis.at(row["p95"]),
        "required": axis.at(limits[0].bound) if limits else None,
    }
