"""What the regions are suitable for from one vantage point."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns.frame import Frame, frame_or_404
from webapp.pages.campaigns.probes import name_places
from webapp.pages.ui import formatting
from webapp.pages.ui.charts.svg import Axis
from webapp.store.campaigns import probe_reports, selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
_VERDICTS = {"yes": "Suitable", "no": "Not suitable", "undecided": "Undecided"}
_STRICTNESS = {"yes": 0, "undecided": 1, "no": 2}
# Shares from 0 to 1 in the drawing of a cell.
_AXIS = Axis(0.0, 1.0, 4.0, 96.0)


@require_GET
def suitability(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the verdicts for every region and use from a vantage point."""
    frame = frame_or_404(request, slug)
    names = selectors.read_table(frame.row, "suitability", ["vantage"])["vantage"].to_pylist()
    points = _points(frame, names)
    asked = request.GET.get("vantage", "")
    vantage = asked if asked in points else _most_measured(points, names)
    rows = selectors.read_table(frame.row, "suitability", None, {"vantage": vantage}).to_pylist()
    places = name_places(frame)
    more = {
        "rows": [_verdict(row) for row in rows],
        "matrix": _matrix(rows, places),
        "headline": _headline(rows, points.get(vantage, ""), places),
        "vantage": vantage,
        "points": points.items(),
        "rules": sorted({(row["use"], row["rule"], row["source"]) for row in rows}),
        "reports": probe_reports.list_reports(frame.row),
    }
    return render(request, "campaigns/suitability.html", frame.context(request, **more))


def _points(frame: Frame, names: list[str]) -> dict[str, str]:
    """Return the cities of vantage points by name, sorted by city."""
    known = vantage_places(frame.row, names)
    cities = {n: known[n].city or n if n in known else n for n in names}
    return dict(sorted(cities.items(), key=lambda pair: pair[1].casefold()))


def _most_measured(points: dict[str, str], names: list[str]) -> str:
    """Return the vantage point with most verdicts, the first by city among equals."""
    counts = Counter(names)
    return max(points, key=lambda name: counts[name], default="")


def _headline(rows: list[Row], city: str, places: Mapping[str, str]) -> str:
    """Return the finding of the first use: how many regions are suitable for it."""
    if not rows:
        return ""
    use = "games" if any(r["use"] == "games" for r in rows) else rows[0]["use"]
    decided = _strictest(rows)
    verdicts = Counter(r["verdict"] for r in decided.values() if r["use"] == use)
    total = verdicts.total()
    counted = f"{verdicts['yes'] or 'none'} of {total} regions"
    if total == 1:
        region = next(r["region"] for r in rows if r["use"] == use)
        counted = f"{places[region]} ({region})" if region in places else region
    verb = "are" if verdicts["yes"] > 1 else "is"
    if total == 1 and not verdicts["yes"]:
        verb = "is not" if verdicts["no"] else "may be"
    text = f"From {city}, {counted} {verb} suitable for {use}"
    if total > 1 and verdicts["undecided"]:
        text += f", {verdicts['undecided']} undecided"
    return text


def _matrix(rows: list[Row], places: Mapping[str, str]) -> dict[str, Any]:
    """Return a row per region and a cell per use: its verdict, and its interval as drawn."""
    uses = sorted({row["use"] for row in rows})
    cells = {key: _drawn(row) for key, row in _strictest(rows).items()}
    lines = []
    for region in dict.fromkeys(row["region"] for row in rows):
        own = [cells.get((region, use)) for use in uses]
        lines.append({"region": region, "place": places.get(region, ""), "cells": own})
    lines.sort(key=lambda line: -sum(c["verdict"] == "yes" for c in line["cells"] if c))
    return {"uses": uses, "lines": lines}


def _strictest(rows: list[Row]) -> dict[tuple[str, str], Row]:
    """Return the least favourable verdict of a region for a use, where several probes judge it."""
    chosen: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row["region"], row["use"]
        known = chosen.get(key)
        if known is None or _STRICTNESS[row["verdict"]] > _STRICTNESS[known["verdict"]]:
            chosen[key] = row
    return chosen


def _drawn(row: Row) -> Row:
    places = {name: _AXIS.at(row[name]) for name in ("low", "high", "share", "required")}
    return {**_verdict(row), "at": places}


def _verdict(row: Row) -> Row:
    return {
        **row,
        "word": _VERDICTS[row["verdict"]],
        "interval": f"{formatting.share(row['low'])} to {formatting.share(row['high'])}",
    }
