"""How vantage points are spoken of: their health, age, clock and limits."""

from collections import Counter
from collections.abc import Sequence, Set
from datetime import timedelta
from typing import Any

from webapp.pages.ui.formatting import NONE, THIN, count, size
from webapp.store.models import VantagePoint
from webapp.store.vantages.documents import Health, age_of, clock_is_off, health_of

HEALTH = {
    Health.ALIVE: "Alive",
    Health.STALE: "Late",
    Health.LOST: "Lost",
    Health.INVITED: "Invited",
    Health.DRAINING: "Draining",
    Health.REVOKED: "Revoked",
    Health.OUTSIDE: "Elsewhere",
}
# What the state marks of the components look like for each.
STATE = {
    Health.ALIVE: "finished",
    Health.STALE: "partial",
    Health.LOST: "failed",
    Health.INVITED: "queued",
    Health.DRAINING: "running",
    Health.REVOKED: "cancelled",
    Health.OUTSIDE: "queued",
}
SOURCES = {
    "own": "Own",
    "globalping": "Globalping",
    "atlas": "RIPE Atlas",
    "synthetic": "Synthetic",
}


def health(point: VantagePoint, found: Health) -> str:
    """The word for its health; without a heartbeat, the word for its kind."""
    if found != Health.OUTSIDE:
        return HEALTH[found]
    return "Synthetic" if point.source == VantagePoint.Source.SYNTHETIC else "On demand"


def mark(point: VantagePoint, found: Health) -> str:
    """Its mark on maps: by its health, or by its kind where it accepts no orders."""
    is_made_up = point.source == VantagePoint.Source.SYNTHETIC
    return "synthetic" if found == Health.OUTSIDE and is_made_up else str(found)


def age(point: VantagePoint) -> str:
    """Time since its last heartbeat: ``4 s``, ``3 h``."""
    found = age_of(point)
    return NONE if found is None else span(found)


def span(length: timedelta) -> str:
    """A length of time in its largest unit."""
    seconds = int(length.total_seconds())
    for unit, of in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * of:
            return f"{seconds // of}{THIN}{unit}"
    return f"{seconds}{THIN}s"


def clock(point: VantagePoint) -> str:
    """How far its clock is off: ``+0.8 ms ± 0.2``."""
    if point.clock_offset_ms is None:
        return NONE
    offset = point.clock_offset_ms
    sign = "+" if offset > 0 else "−"
    if abs(offset) >= 10_000:
        return f"{sign}{span(timedelta(milliseconds=abs(offset)))}"
    doubt = f" ±{THIN}{point.clock_doubt_ms:,.1f}" if point.clock_doubt_ms is not None else ""
    return f"{sign}{abs(offset):,.1f}{THIN}ms{doubt}"


def clock_off(point: VantagePoint) -> str:
    """How wrong its clock is, in words: ``60 min ahead``."""
    offset = point.clock_offset_ms or 0.0
    return f"{clock(point)[1:]} {'ahead' if offset > 0 else 'behind'}"


def hours(limits: dict[str, Any]) -> str:
    """The hours in which it measures."""
    first, last = limits.get("from_hour", 0), limits.get("to_hour", 24)
    return "always" if (first, last) == (0, 24) else f"{first}:00 to {last}:00 UTC"


def limits(point: VantagePoint) -> str:
    """Its limits in one line; nothing for places that are not ours to limit."""
    if point.source != VantagePoint.Source.OWN:
        return NONE
    limits = point.limits
    rate = f"{count(limits.get('probes_per_s'))}/s"
    return f"{rate} · {size(limits.get('bytes_per_day'))}/d · {hours(limits)}"


def place(point: VantagePoint) -> str:
    """City and country."""
    return ", ".join(filter(None, (point.city, point.country))) or NONE


def coordinates(point: VantagePoint) -> str:
    """Its place on the map in degrees."""
    if point.lat is None or point.lon is None:
        return NONE
    north, east = "N" if point.lat >= 0 else "S", "E" if point.lon >= 0 else "W"
    return f"{abs(point.lat):.1f}° {north}, {abs(point.lon):.1f}° {east}"


def network(point: VantagePoint) -> str:
    """Return the network of a vantage point."""
    number = f"AS{point.asn}" if point.asn else ""
    return " · ".join(filter(None, (point.provider, number))) or NONE


def sentence(points: Sequence[tuple[VantagePoint, Health]]) -> str:
    """The finding of the list: how many can measure now, own ones first."""
    seen = Counter(mark(p, h) for p, h in points)
    asked, made_up = seen[Health.OUTSIDE], seen["synthetic"]
    own = len(points) - asked - made_up - seen[Health.REVOKED]
    if own:
        others = f"; {asked:,} of public networks can be asked" if asked else ""
        return _of_own(seen, own) + others
    if asked:
        return f"{asked:,} place{'' if asked == 1 else 's'} of public networks can measure"
    verb = "is" if made_up == 1 else "are"
    return f"No live vantage point yet: {made_up:,} {verb} synthetic" if made_up else ""


def _of_own(seen: Counter[str], own: int) -> str:
    able = seen[Health.ALIVE] + seen[Health.DRAINING]
    if able == own:
        return "The one vantage point is alive" if own == 1 else f"All {own:,} are alive"
    silent = seen[Health.STALE] + seen[Health.LOST]
    waits = f"{seen[Health.INVITED]:,} not joined yet" if seen[Health.INVITED] else ""
    rest = ", ".join(filter(None, (f"{silent:,} silent" if silent else "", waits)))
    return f"{able:,} of {own:,} vantage point{'' if own == 1 else 's'} alive: {rest}"


def point_sentence(point: VantagePoint, health: Health) -> str:
    """The finding of one: whether it can be counted on."""
    name = point.city or point.name
    spoken = {
        Health.ALIVE: f"{name} is online, last contact {age(point)} ago",
        Health.STALE: f"{name} is late: heard {age(point)} ago",
        Health.LOST: f"{name} is lost: silent for {age(point)}",
        Health.INVITED: f"{name} is invited and has not joined",
        Health.DRAINING: f"{name} finishes what it has and takes nothing new",
        Health.REVOKED: f"{name} is revoked and measures no more",
        Health.OUTSIDE: f"{name} is a place of {SOURCES.get(point.source, point.source)}",
    }
    if mark(point, health) == "synthetic":
        return f"{name} is synthetic: nothing measures there"
    off = f"; its clock is {clock_off(point)}" if clock_is_off(point) else ""
    return spoken[health] + (off if point.source == VantagePoint.Source.OWN else "")


def choices_of(points: Sequence[VantagePoint], chosen: Set[str]) -> list[dict[str, Any]]:
    """Vantage points to choose from, own ones first, each with its place and what is odd of it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        found = health_of(point)
        odd = HEALTH[found].lower() if found in (Health.STALE, Health.LOST) else ""
        groups.setdefault(point.source, []).append(
            {
                "name": point.name,
                "place": place(point),
                "odd": odd,
                "is_chosen": point.name in chosen,
            }
        )
    order = sorted(groups, key=lambda source: source != VantagePoint.Source.OWN)
    return [{"source": SOURCES.get(s, s), "points": groups[s]} for s in order]
