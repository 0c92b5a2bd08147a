"""What the regions are suitable for from one vantage point, and the reports of single probes."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame, frame_or_404
from webapp.pages.ui import formatting
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
GROUPINGS = {
    "vantage": "From this vantage point",
    "region": "By region",
    "zone": "By zone",
    "hour": "By hour (UTC)",
}
_VERDICTS = {"yes": "Suitable", "no": "Not suitable", "undecided": "Undecided"}
# Rows of one probe's table on the page; its file holds all.
MAX_ROWS = 200


@require_GET
def suitability(request: HttpRequest, slug: str) -> HttpResponse:
    """Verdicts for every region and use from a vantage point, then the statistics of probes."""
    frame = frame_or_404(request, slug)
    names = selectors.read_table(frame.row, "suitability", ["vantage"])["vantage"].unique()
    points = _points(frame, names.to_pylist())
    asked = request.GET.get("vantage", "")
    vantage = asked if asked in points else next(iter(points), "")
    asked = request.GET.get("by", "vantage")
    grouping = asked if asked in GROUPINGS else "vantage"
    rows = selectors.read_table(frame.row, "suitability", None, {"vantage": vantage}).to_pylist()
    more = {
        "rows": [_verdict(row) for row in rows],
        "headline": _headline(rows, points.get(vantage, "")),
        "vantage": vantage,
        "points": points.items(),
        "groupings": GROUPINGS.items(),
        "grouping": grouping,
        "rules": sorted({(row["use"], row["rule"], row["source"]) for row in rows}),
        "probes": _probes(frame, grouping, vantage),
    }
    return render(request, "campaigns/suitability.html", frame.context(request, **more))


def _points(frame: Frame, names: list[str]) -> dict[str, str]:
    """Return the cities of vantage points by name, sorted by city."""
    known = vantage_places(frame.row, names)
    cities = {n: known[n].city or n if n in known else n for n in names}
    return dict(sorted(cities.items(), key=lambda pair: pair[1].casefold()))


def _headline(rows: list[Row], city: str) -> str:
    """Return the finding of the first use: how many regions are suitable for it."""
    if not rows:
        return ""
    use = "games" if any(r["use"] == "games" for r in rows) else rows[0]["use"]
    regions = {r["region"] for r in rows if r["use"] == use}
    failing = {r["region"] for r in rows if r["use"] == use and r["verdict"] != "yes"}
    suitable = len(regions) - len(failing)
    verb = "is" if suitable == 1 else "are"
    return f"From {city}, {suitable} of {len(regions)} regions {verb} suitable for {use}"


def _verdict(row: Row) -> Row:
    return {
        **row,
        "word": _VERDICTS[row["verdict"]],
        "interval": f"{formatting.share(row['low'])} to {formatting.share(row['high'])}",
    }


def _probes(frame: Frame, grouping: str, vantage: str) -> list[Row]:
    """Return the statistics of each probe with a report, by the chosen grouping."""
    wanted = {"grouped_by": grouping, "vantage": vantage if grouping == "vantage" else ""}
    made = []
    for table_id in selectors.file_names(frame.row):
        if not table_id.startswith("probe-"):
            continue
        found = selectors.read_table(frame.row, table_id, None, wanted)
        rows = [_statistic(row) for row in found.slice(0, MAX_ROWS).to_pylist()]
        name = table_id.removeprefix("probe-")
        made.append({"id": table_id, "name": name, "rows": rows, "total": found.num_rows})
    return made


def _statistic(row: Row) -> Row:
    low, high = (_value(row[key], row["unit"]) for key in ("p50_low", "p50_high"))
    return {
        **row,
        "place": row["zone"] or row["region"],
        "median": _value(row["p50"], row["unit"]),
        "interval": f"{low} to {high}" if row["p50_low"] is not None else formatting.NONE,
        "upper": _value(row["p95"], row["unit"]),
        "name": row["statistic"].replace("_", " "),
    }


def _value(value: float | None, unit: str) -> str:
    if unit == "ms" or value is None:
        return campaign_formatting.milliseconds(value)
    return f"{value:.1f}{formatting.THIN}{unit}" if unit else f"{value:.1f}"
