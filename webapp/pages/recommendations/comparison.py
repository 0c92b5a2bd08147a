"""Differences of two recommendations of a user: sets, values, clients."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from webapp.pages.recommendations.answer import UNITS
from webapp.store.models import Recommendation
from webapp.store.recommendations import services

Part = Mapping[str, Any]
# Countries shown, those with the largest change of the median.
MOST_COUNTRIES = 40


@never_cache
@require_GET
def compare(request: HttpRequest, token: str, other: str) -> HttpResponse:
    """An answer beside an earlier one."""
    after, before = (_answered(request, name) for name in (token, other))
    measures = {str((row.result or {})["objective"]["measure"]) for row in (after, before)}
    context = {
        "section": "recommendations",
        "after": after,
        "before": before,
        "unit": UNITS[measures.pop()] if len(measures) == 1 else "",
        "is_comparable": not measures,
        **changes(before.result or {}, after.result or {}),
    }
    return render(request, "recommendations/compare.html", context)


def _answered(request: HttpRequest, token: str) -> Recommendation:
    row = services.find(token, request.user)
    if row is None or row.result is None:
        raise Http404("there is no such answer")
    return row


def changes(before: Part, after: Part) -> dict[str, Any]:
    """Sets, values, the deployment and clients, each before and after."""
    sizes = _sizes(before, after)
    return {
        "sizes": sizes,
        "same": sum(row["is_same"] for row in sizes),
        "deployment": _deployment(before, after),
        "countries": _countries(before, after),
        "figures": [
            (label, before[name], after[name])
            for name, label in (
                ("n_clients", "Clients"),
                ("n_rounds", "Rounds"),
                ("n_regions", "Regions"),
                ("missing", "Values missing"),
            )
        ],
    }


def _sizes(before: Part, after: Part) -> list[dict[str, Any]]:
    known = {row["k"]: row for row in before["results"]}
    found = []
    for row in after["results"]:
        then = known.get(row["k"])
        if then is None:
            continue
        old, new = set(then["regions"]), set(row["regions"])
        values = then["value"], row["value"]
        found.append(
            {
                "k": row["k"],
                "came": sorted(new - old),
                "went": sorted(old - new),
                "regions": row["regions"],
                "before": values[0],
                "after": values[1],
                "change": None if None in values else values[1] - values[0],
                "is_same": old == new,
                "beyond_chance": _are_disjoint(then["interval"], row["interval"]),
            }
        )
    return found


def _are_disjoint(one: list[float] | None, other: list[float] | None) -> bool | None:
    """Return whether two intervals are disjoint; ``None`` where either is missing."""
    if not one or not other:
        return None
    return one[1] < other[0] or other[1] < one[0]


def _deployment(before: Part, after: Part) -> dict[str, Any]:
    then, now = (part["current"] or {"regions": (), "value": None} for part in (before, after))
    old, new = set(then["regions"]), set(now["regions"])
    return {
        "came": sorted(new - old),
        "went": sorted(old - new),
        "before": then["value"],
        "after": now["value"],
        "is_known": bool(old and new),
    }


def _countries(before: Part, after: Part) -> list[dict[str, Any]]:
    """Clients by country, of the deployment, or else of the smallest set."""
    then, now = _by_country(before), _by_country(after)
    rows = [
        {
            "country": country,
            "before": then.get(country, {}).get("p50"),
            "after": now.get(country, {}).get("p50"),
            "share_before": then.get(country, {}).get("share"),
            "share_after": now.get(country, {}).get("share"),
        }
        for country in sorted({*then, *now})
    ]
    return sorted(rows, key=_moved, reverse=True)[:MOST_COUNTRIES]


def _moved(row: Part) -> float:
    if row["before"] is None or row["after"] is None:
        return float("inf")
    return abs(float(row["after"]) - float(row["before"]))


def _by_country(part: Part) -> dict[str, Part]:
    sets = (part["consequences"] or {"sets": []})["sets"]
    return {row["country"] or "unknown": row for row in sets[0]["countries"]} if sets else {}
