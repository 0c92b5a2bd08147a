"""Traceroutes of one end become ways with letters, and what changed from round to round."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from webapp.pages.campaigns import formatting as said

Row = dict[str, Any]
Owners = Mapping[str, Row]
Steps = dict[int, set[str]]
SHOWN_ROUNDS, SHOWN_HOPS = 12, 4


def letter(number: int) -> str:
    """``A`` of the most frequent way, ``Z``, then ``AA``."""
    text = ""
    while number >= 0:
        text, number = chr(65 + number % 26) + text, number // 26 - 1
    return text


def end_of(path: Row, vantage: str) -> tuple[str, str]:
    """Which end it led to, or came from, and which zone that is in."""
    far = path["target"] if path["vantage"] == vantage else path["vantage"]
    return far, path["zone"] or ""


def addresses_of(path: Row) -> tuple[str, ...]:
    """What makes a way: the addresses that answered, hop by hop."""
    return tuple(h["address"] or "" for h in path["hops"])


def ways_of(paths: Iterable[Row]) -> list[list[Row]]:
    """Traceroutes over the same answering addresses together, the most frequent first."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for path in paths:
        groups.setdefault(addresses_of(path), []).append(path)
    return sorted(groups.values(), key=lambda g: -len(g))


def describe(group: Sequence[Row], at: int, usual: set[Any] | None, owners: Owners) -> Row:
    """One way: the mean time of each hop over all its traceroutes."""
    hops = []
    for number, hop in enumerate(group[0]["hops"]):
        times = [t for p in group if (t := p["hops"][number]["rtt_ms"]) is not None]
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
        "letter": letter(at),
        "count": len(group),
        "reached": group[0]["reached"],
        "hops": hops,
        "rounds": ", ".join(map(str, numbers[:SHOWN_ROUNDS])) + rest,
    }


def series_of(paths: Iterable[Row]) -> list[list[Row]]:
    """Traceroutes of the same ends and flow, in the order of time."""
    series: dict[tuple[Any, ...], list[Row]] = {}
    for path in paths:
        key = (path["vantage"], path["target"], path["zone"], path["flow"])
        series.setdefault(key, []).append(path)
    return [sorted(own, key=lambda p: (p["round"], str(p["at"]))) for own in series.values()]


def changes_of(paths: Iterable[Row], owners: Owners) -> Row:
    """How often the next traceroute of the same ends and flow went another way, and over other
    networks; hops that stayed silent in one of the two say nothing."""
    pairs = [
        (steps_of(one), steps_of(two)) for own in series_of(paths) for one, two in pairwise(own)
    ]
    return {
        "of": len(pairs),
        "ways": sum(bool(_apart(one, two)) for one, two in pairs),
        "networks": sum(
            bool(_apart(_networks(one, owners), _networks(two, owners))) for one, two in pairs
        ),
    }


def steps_of(path: Row) -> Steps:
    """Addresses that answered, by hop."""
    told: Steps = {}
    for hop in path["hops"]:
        if hop["address"]:
            told.setdefault(hop["ttl"], set()).add(hop["address"])
    return told


def _networks(steps: Steps, owners: Owners) -> Steps:
    return {t: {owners.get(a, {}).get("network") or a for a in own} for t, own in steps.items()}


def _apart(one: Steps, two: Steps) -> list[int]:
    return sorted(ttl for ttl in one.keys() & two.keys() if not one[ttl] & two[ttl])


def course_of(paths: Iterable[Row], ways: Sequence[Sequence[Row]], owners: Owners) -> list[Row]:
    """Every traceroute with its way, and how it differs from the one before it."""
    letters = {addresses_of(group[0]): letter(at) for at, group in enumerate(ways)}
    rows = []
    for own in series_of(paths):
        before = None
        for path in own:
            rows.append(
                {
                    "round": path["round"],
                    "at": path["at"],
                    "reached": path["reached"],
                    "flow": path["flow"],
                    "way": letters[addresses_of(path)],
                    "hops": max((h["ttl"] for h in path["hops"]), default=0),
                    "time": said.milliseconds(_last(path)),
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
    """Hops that answered both times from elsewhere: whose they were, and whose they are."""
    one, two = steps_of(before), steps_of(now)
    was, are = _networks(one, owners), _networks(two, owners)
    found = []
    for ttl in _apart(one, two):
        other = not was[ttl] & are[ttl]
        sides = (was[ttl], are[ttl]) if other else (one[ttl], two[ttl])
        texts = [", ".join(sorted(side)) for side in sides]
        found.append({"ttl": ttl, "was": texts[0], "now": texts[1], "is_network": other})
    return found[:SHOWN_HOPS]
