"""Shifts of latency: of all pairs of a campaign, and on the time series of one."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns.formatting import METRICS
from webapp.pages.campaigns.frame import Frame, frame_or_404, paginate, round_start
from webapp.pages.ui import formatting
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
CHANGES_A_PAGE = 50
_TABLE = "latency-changes"


@require_GET
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """List the shifts of latency of all pairs, the largest first."""
    frame = frame_or_404(request, slug)
    rows = read_changes(frame)
    page = paginate(request, len(rows), CHANGES_A_PAGE)
    first = (page["page"] - 1) * CHANGES_A_PAGE
    shown = rows[first : first + CHANGES_A_PAGE]
    known = vantage_places(frame.row, {r["vantage"] for r in shown})
    for row in shown:
        place = known.get(row["vantage"])
        row["city"] = place.city if place and place.city else row["vantage"]
    pairs = selectors.read_table(frame.row, "latency-grid", ["vantage", "region"]).num_rows
    more = {
        "metric": METRICS["latency"],
        "is_built": selectors.has_table(frame.row, _TABLE),
        "sentence": describe_changes(rows, pairs),
        "pairs": pairs,
        "rows": shown,
        "total": len(rows),
        "pager": page,
        "params": "",
    }
    return render(request, "campaigns/changes.html", frame.context(request, **more))


def read_changes(frame: Frame, **pair: str) -> list[Row]:
    """Shifts of all pairs, or of one by ``vantage`` and ``region``, the largest first."""
    rows = selectors.read_table(frame.row, _TABLE, None, pair).to_pylist()
    named = [
        {
            **row,
            "moment": round_start(frame.row, row["round"]),
            "rounds": row["found_round"] - row["round"] + 1,
        }
        for row in rows
    ]
    return sorted(named, key=lambda row: (-abs(row["shift"]), row["vantage"], row["region"]))


def describe_changes(rows: list[Row], pairs: int) -> str:
    """Return the sentence over the shifts of all pairs."""
    moved = {(row["vantage"], row["region"]) for row in rows}
    if not pairs:
        return "No pair has latencies"
    of_all = f"{formatting.count(pairs)} pair{'' if pairs == 1 else 's'}"
    if not moved:
        return (
            f"None of {of_all} shows a lasting change of latency"
            if pairs > 1
            else ("The only pair shows no lasting change of latency")
        )
    up = sum(row["shift"] > 0 for row in rows)
    ways = f"{formatting.count(up)} up, {formatting.count(len(rows) - up)} down"
    changed = "changed its" if len(moved) == 1 else "changed their"
    return f"{formatting.count(len(moved))} of {of_all} {changed} latency: {ways}"


def mark_changes(rows: list[Row], chart: Row | None) -> list[Row]:
    """Return the shifts with their place on the chart of round means."""
    return [{**row, "x": chart["x"].at(row["round"] - 0.5)} for row in rows] if chart else []
