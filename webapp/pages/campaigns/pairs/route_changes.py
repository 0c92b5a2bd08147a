"""Routes of traceroutes, lettered by frequency, and their changes between rounds."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from webapp.pages.campaigns import formatting as campaign_formatting

Row = dict[str, Any]
Owners = Mapping[str, Row]
Steps = dict[int, set[str]]
SHOWN_ROUNDS, SHOWN_HOPS = 12, 4


def route_letter(number: int) -> str:
    """Return the letters of a route by its rank: ``A`` to ``Z``, then ``AA``."""
    text = ""
    while number >= 0:
        text, number = chr(65 + number % 26) + text, number // 26 - 1
    return text


def route_end(path: Row, vantage: str) -> tuple[str, str]:
    """Return (name, zone) of the end that is not the vantage point."""
    far = path["target"] if path["vantage"] == vantage else path["vantage"]
    return far, path["zone"] or ""


def route_addresses(path: Row) -> tuple[str, ...]:
    """Return the addresses that answered, hop by hop: the identity of a route."""
    return tuple(h["address"] or "" for h in path["hops"])


def group_routes(paths: Iterable[Row]) -> list[list[Row]]:
    """Group traceroutes by the addresses that answered, the most frequent route first."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for path in paths:
        groups.setdefault(route_addresses(path), []).append(path)
    return sorted(groups.values(), key=lambda g: -len(g))


def summarize_route(group: Sequence[Row], at: int, usual: set[Any] | None, owners: Owners) -> Row:
    """Return one route with the mean time of each hop over its traceroutes."""
    hops = []
    for number, hop in enumerate(group[0]["hops"]):
        times = [t for p in group if (t := p["hops"][number]["rtt_ms"]) is not None]
        mean = fmean(times) if times else None
        is_new = usual is not None and hop["address"] is not None and hop["address"] not in usual
        known = owners.get(hop["address"] or "", {})
        hops.append(
            {
                **hop,
                **known,
                "rtt_ms": mean,
                "rtt": campaign_formatting.milliseconds(mean),
                "is_new": is_new,
            }
        )
    most = max((h["rtt_ms"] or 0.0 for h in hops), default=0.0) or 1.0
    for hop in hops:
        hop["part"] = (hop["rtt_ms"] or 0.0) / most
    numbers = sorted({p["round"] for p in group})
    rest = " …" if len(numbers) > SHOWN_ROUNDS else ""
    return {
        "letter": route_letter(at),
        "count": len(group),
        "reached": group[0]["reached"],
        "hops": hops,
        "rounds": ", ".join(map(str, numbers[:SHOWN_ROUNDS])) + rest,
    }


def group_by_flow(paths: Iterable[Row]) -> list[list[Row]]:
    """Group traceroutes by ends and flow, each group in order of time."""
    series: dict[tuple[Any, ...], list[Row]] = {}
    for path in paths:
        key = (path["vantage"], path["target"], path["zone"], path["flow"])
        series.setdefault(key, []).append(path)
    return [sorted(own, key=lambda p: (p["round"], str(p["at"]))) for own in series.values()]


def count_changes(paths: Iterable[Row], owners: Owners) -> Row:
    """Count successive traceroutes of the same ends and flow that differ in hops or networks.

    Hops without an answer in either traceroute are not compared."""
    pairs = [
        (addresses_by_hop(one), addresses_by_hop(two))
        for own in group_by_flow(paths)
        for one, two in pairwise(own)
    ]
    return {
        "of": len(pairs),
        "ways": sum(bool(_differing_hops(one, two)) for one, two in pairs),
        "networks": sum(
            bool(_differing_hops(_networks(one, owners), _networks(two, owners)))
            for one, two in pairs
        ),
    }


def addresses_by_hop(path: Row) -> Steps:
    """Return the addresses that answered, by hop."""
    steps: Steps = {}
    for hop in path["hops"]:
        if hop["address"]:
            steps.setdefault(hop["ttl"], set()).add(hop["address"])
    return steps


def _networks(steps: Steps, owners: Owners) -> Steps:
    return {t: {owners.get(a, {}).get("network") or a for a in own} for t, own in steps.items()}


def _differing_hops(one: Steps, two: Steps) -> list[int]:
    return sorted(ttl for ttl in one.keys() & two.keys() if not one[ttl] & two[ttl])


def list_traceroutes(
    paths: Iterable[Row], ways: Sequence[Sequence[Row]], owners: Owners
) -> list[Row]:
    """Return every traceroute with its route, and its differences from the one before."""
    letters = {route_addresses(group[0]): route_letter(at) for at, group in enumerate(ways)}
    rows = []
    for own in group_by_flow(paths):
        before = None
        for path in own:
            rows.append(
                {
                    "round": path["round"],
                    "at": path["at"],
                    "reached": path["reached"],
                    "flow": path["flow"],
                    "way": letters[route_addresses(path)],
                    "hops": max((h["ttl"] for h in path["hops"]), default=0),
                    "time": campaign_formatting.milliseconds(_last(path)),
                    "is_first": before is None,
                    "differs": [] if before is None else _differences(before, path, owners),
                }
            )
            before = path
    return sorted(rows, key=lambda r: (r["round"], str(r["at"]), r["flow"]))


def _last(path: Row) -> float | None:
    """The time of the last hop that answered."""
    times = [h["rtt_ms"] for h in path["hops"] if h["rtt_ms"] is not None]
    return times[-1] if times else None


def _differences(before: Row, now: Row, owners: Owners) -> list[Row]:
    """Hops with different answers in both routes: previous and current owners."""
    one, two = addresses_by_hop(before), addresses_by_hop(now)
    was, are = _networks(one, owners), _networks(two, owners)
    found = []
    for ttl in _differing_hops(one, two):
        other = not was[ttl] & are[ttl]
        sides = (was[ttl], are[ttl]) if other else (one[ttl], two[ttl])
        texts = [", ".join(sorted(side)) for side in sides]
        found.append({"ttl": ttl, "was": texts[0], "now": texts[1], "is_network": other})
    return found[:SHOWN_HOPS]
