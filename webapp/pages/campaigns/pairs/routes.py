"""Traceroutes between two ends, hop by hop: owners of the hops, and changes between rounds."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns.frame import Frame, frame_or_404, paginate
from webapp.pages.campaigns.pairs import route_changes
from webapp.pages.campaigns.pairs.views import pair_ends
from webapp.pages.ui.links import with_query
from webapp.store.campaigns import samples, selectors

Row = dict[str, Any]
SHOWN_WAYS, ROWS_A_PAGE = 12, 48
# What an address is where no AS can be route_changes.
_KINDS = {
    "private": "private address",
    "exchange": "an exchange",
    "unannounced": "in no BGP announcement",
    "": "not looked up",
}


@require_GET
def routes(request: HttpRequest, slug: str, vantage: str, region: str) -> HttpResponse:
    """Traceroutes between the two: every way to one end that was seen, and where it differs."""
    frame = frame_or_404(request, slug)
    found = samples.read_paths(frame.row, vantage, region)
    owners = _owners(frame, found)
    by_end: dict[tuple[str, str], list[Row]] = {}
    for path in found:
        by_end.setdefault(route_changes.route_end(path, vantage), []).append(path)
    ends = _ends(request, by_end)
    chosen = next((e for e in ends if e["is_chosen"]), None)
    more = {
        **pair_ends(frame, vantage, region),
        "traces": len(found),
        "all_ways": sum(e["ways"] for e in ends),
        "ends": ends,
        "changes": route_changes.count_changes(found, owners),
        "has_owners": bool(owners),
        **(_of_end(request, by_end[chosen["key"]], owners) if chosen else {}),
    }
    return render(request, "campaigns/routes.html", frame.context(request, **more))


def _ends(request: HttpRequest, by_end: dict[tuple[str, str], list[Row]]) -> list[Row]:
    """Servers or zones that were traced, one of them chosen by the address."""
    asked = request.GET.get("end", "")
    keys = sorted(by_end, key=lambda key: key[::-1])
    chosen = next((key for key in keys if key[0] == asked), keys[0] if keys else None)
    return [
        {
            "key": key,
            "name": _name(*key),
            "ways": len(route_changes.group_routes(by_end[key])),
            "is_chosen": key == chosen,
            "href": with_query(request, end=key[0], page=""),
        }
        for key in keys
    ]


def _name(far: str, zone: str) -> str:
    return zone if not far or far == zone else f"{zone}, {far}" if zone else far


def _of_end(request: HttpRequest, paths: list[Row], owners: dict[str, Row]) -> Row:
    """Ways to one end, and every traceroute to it in the order of time."""
    groups = route_changes.group_routes(paths)
    usual = {h["address"] for h in groups[0][0]["hops"]}
    shown = enumerate(groups[:SHOWN_WAYS])
    course = route_changes.list_traceroutes(paths, groups, owners)
    page = paginate(request, len(course), ROWS_A_PAGE)
    first = (page["page"] - 1) * ROWS_A_PAGE
    query = request.GET.copy()
    query.pop("page", None)
    return {
        "ways": [
            route_changes.summarize_route(g, at, usual if at else None, owners) for at, g in shown
        ],
        "more": max(0, len(groups) - SHOWN_WAYS),
        "own": route_changes.count_changes(paths, owners),
        "course": course[first : first + ROWS_A_PAGE],
        "has_flows": len({p["flow"] for p in paths}) > 1,
        "pager": page,
        "params": query.urlencode(),
    }


def _owners(frame: Frame, found: Iterable[Row]) -> dict[str, Row]:
    """What is known of each address on these paths."""
    asked = sorted({h["address"] for p in found for h in p["hops"] if h["address"]})
    rows = selectors.read_table(frame.row, "hops", None, {"address": asked}).to_pylist()
    places = selectors.places((r["provider"], r["region"]) for r in rows if r["region"])
    return {r["address"]: _owner(r, places) for r in rows}


def _owner(row: Row, places: dict[str, Row]) -> Row:
    """One address in words: its network, or the cloud's region, and a country."""
    place = places.get(row["region"], {})
    name = " ".join(t for t in (row["provider"], row["region"]) if t) or row["name"]
    country = place.get("country") or row["country"]
    known = " ".join(t for t in (row["ases"], name) if t)
    return {
        "who": known or _KINDS.get(row["kind"], ""),
        "country": country,
        "network": row["ases"] or row["kind"],
    }
