"""Traceroutes between two ends, hop by hop: whose each hop is, and what changed between rounds."""

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages import wide_area_words as said
from webapp.pages.wide_area_frame import Frame, frame_or_404
from webapp.pages.wide_area_pair import ends_of
from webapp.store import wide_area, wide_area_samples

Row = dict[str, Any]
SHOWN_WAYS, SHOWN_ROUNDS = 12, 12
# What an address is where no AS can be told.
_KINDS = {
    "private": "private address", "exchange": "an exchange", "unannounced": "nobody announces it",
    "": "not looked up",
}  # fmt: skip


@require_GET
def routes(request: HttpRequest, slug: str, vantage: str, region: str) -> HttpResponse:
    """Traceroutes between the two: every way that was seen, and where it differs."""
    frame = frame_or_404(request, slug)
    found = wide_area_samples.read_paths(frame.row, vantage, region)
    groups: dict[tuple[str, ...], list[Row]] = {}
    for path in found:
        groups.setdefault(_way_of(path), []).append(path)
    ways = sorted(groups.values(), key=lambda g: -len(g))
    owners = _owners(frame, found)
    usual = {h["address"] for h in ways[0][0]["hops"]} if ways else set()
    more = {
        **ends_of(frame, vantage, region),
        "traces": len(found),
        "all_ways": len(ways),
        "ways": [_way(g, usual if at else None, owners) for at, g in enumerate(ways[:SHOWN_WAYS])],
        "more": max(0, len(ways) - SHOWN_WAYS),
        "changes": _changes(found, owners),
        "has_owners": bool(owners),
    }
    return render(request, "wide_area/routes.html", frame.context(request, **more))


def _owners(frame: Frame, found: Iterable[Row]) -> dict[str, Row]:
    """What is known of each address on these paths."""
    asked = sorted({h["address"] for p in found for h in p["hops"] if h["address"]})
    rows = wide_area.read_table(frame.row, "hops", None, {"address": asked}).to_pylist()
    places = wide_area.places((r["provider"], r["region"]) for r in rows if r["region"])
    return {r["address"]: _owner(r, places) for r in rows}


def _owner(row: Row, places: dict[str, Row]) -> Row:
    """One address in words: its network, or the cloud's region, and a country."""
    place = places.get(row["region"], {})
    name = " ".join(t for t in (row["provider"], row["region"]) if t) or row["name"]
    country = place.get("country") or row["country"]
    known = " ".join(t for t in (row["ases"], name) if t)
    return {"who": known or _KINDS.get(row["kind"], ""), "country": country,
            "network": row["ases"] or row["kind"]}  # fmt: skip


def _way_of(path: Row) -> tuple[str, ...]:
    return (path["zone"] or "", *(h["address"] or "" for h in path["hops"]))


def _way(group: list[Row], usual: set[Any] | None, owners: dict[str, Row]) -> Row:
    """One way: the mean time of each hop over all its traceroutes."""
    hops = []
    for at, hop in enumerate(group[0]["hops"]):
        times = [p["hops"][at]["rtt_ms"] for p in group if p["hops"][at]["rtt_ms"] is not None]
        mean = fmean(times) if times else None
        is_new = usual is not None and hop["address"] is not None and hop["address"] not in usual
        known = owners.get(hop["address"] or "", {})
        hops.append(
            {**hop, **known, "rtt_ms": mean, "rtt": said.milliseconds(mean), "is_new": is_new}
        )
    most = max((h["rtt_ms"] or 0.0 for h in hops), default=0.0) or 1.0
    for hop in hops:
        hop["part"] = (hop["rtt_ms"] or 0.0) / most
    numbers = sorted({p["round"] for p in group})
    rest = " …" if len(numbers) > SHOWN_ROUNDS else ""
    return {
        "count": len(group),
        "reached": group[0]["reached"],
        "rounds": ", ".join(map(str, numbers[:SHOWN_ROUNDS])) + rest,
        "hops": hops,
        "zones": ", ".join(sorted({p["zone"] for p in group if p["zone"]})),
    }


def _changes(found: list[Row], owners: dict[str, Row]) -> Row:
    """How often the next traceroute of the same ends and flow went another way, and over other
    networks; hops that stayed silent in one of the two say nothing."""
    series: dict[tuple[Any, ...], list[Row]] = {}
    for path in found:
        key = (path["vantage"], path["target"], path["zone"], path["flow"])
        series.setdefault(key, []).append(path)
    pairs = [
        (_steps(one), _steps(two))
        for own in series.values()
        for one, two in pairwise(sorted(own, key=lambda p: (p["round"], str(p["at"]))))
    ]
    return {
        "of": len(pairs),
        "ways": sum(_differ(one, two) for one, two in pairs),
        "networks": sum(
            _differ(_networks(one, owners), _networks(two, owners)) for one, two in pairs
        ),
    }


def _steps(path: Row) -> dict[int, set[str]]:
    """Addresses that answered, by hop."""
    told: dict[int, set[str]] = {}
    for hop in path["hops"]:
        if hop["address"]:
            told.setdefault(hop["ttl"], set()).add(hop["address"])
    return told


def _networks(steps: dict[int, set[str]], owners: dict[str, Row]) -> dict[int, set[str]]:
    return {t: {owners.get(a, {}).get("network", a) for a in own} for t, own in steps.items()}


def _differ(one: dict[int, set[str]], two: dict[int, set[str]]) -> bool:
    return any(not one[ttl] & two[ttl] for ttl in one.keys() & two.keys())
