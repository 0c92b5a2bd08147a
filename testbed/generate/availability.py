"""Which availability zones each name uses, region by region, so that Table 12 comes out.

A name may use no identified zone at all: the study could place 87 % of all instances. Zones are
first dealt to domains, the large ones getting all, then to their names.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from zlib import crc32

from testbed.generate.addresses.instances import FLEXIBLE, per_region
from testbed.generate.addresses.machines import zone_need
from testbed.generate.apportion import scaled
from testbed.generate.levelling import LETTERS, Household, Stay, level_zones
from testbed.world.drafts import DomainDraft, Draft

# Shares of a region's domains without an identified zone. Where zones are crowded, the first that
# leaves the others room for all names: what the smallest would have is a second zone of others.
_NO_ZONE_DOMAINS = (0.053, 0.1, 0.15, 0.2, 0.225, 0.25, 0.275, 0.3)
# Share of names without one (chosen to fit Figure 13a).
_NO_ZONE_NAMES = 0.05
# Where a zone is used by more than this share of names, none can go without any.
_NEARLY_ALL = 0.85
# Share of a region's names in the domains that use all of its zones, for each zone that its names
# use beyond one (chosen to fit Figure 13b).
_WIDE = 0.65
# Of the zones beyond the first of a domain that are left then, share that goes to small domains
# with three zones; the others have two (chosen to fit Figure 13b).
_SMALL_WIDE = 0.57
# Zones of one name, at most (Figure 13a), and share of the names in two regions whose zones are
# identified in one of these only, more seldom in more regions (chosen to fit section 4.4.3).
_MOST_ZONES = 6
_ONE_REGION = 0.7
# Share of names whose addresses beyond one for each zone stand in a zone that nobody identified:
# of domains whose names share machines, and of other fronts.
_STRAY = (0.5, 0.12)
# Share of the names of a domain that can be expected to use any one of its zones.
_WILLING = 0.97

# What is left to deal in a region, by zone: domains, and names that these must have.
Zones = tuple[Counter[int], dict[int, float]]


def deal_zones(
    domains: Sequence[DomainDraft], section: Mapping[str, Any], scale: Fraction, rng: random.Random
) -> dict[int, dict[str, list[int]]]:
    """Zones (positions in ``LETTERS``) by ``id`` of the draft and region, for AWS."""
    found: dict[int, dict[str, list[int]]] = defaultdict(dict)
    by_region = _households(domains, zone_need(section), rng)
    for region in section["regions"]:
        households = by_region.get(region["code"], [])
        _deal_region(households, *_published(region, households, scale), rng)
    level_zones(by_region.values(), section.get("zone_counts", ()), rng)
    for code, households in by_region.items():
        for stay in (s for h in households for s in h.stays):
            found[id(stay.draft)][code] = sorted(stay.zones)
    return found


def _deal_region(
    households: list[Household], names: list[int], wanted: list[int], rng: random.Random
) -> None:
    """Deal zones to domains and their names, with as few domains as possible that get none.

    ``wanted`` are domains by zone, ``names`` names.
    """
    short: dict[float, int] = {}
    for share in _NO_ZONE_DOMAINS if _is_crowded(households, names) else _NO_ZONE_DOMAINS[:1]:
        short[share] = _deal_once(households, names, wanted, share, rng)
        if not short[share]:
            return
    if len(short) > 1:
        best = min(short, key=lambda share: short[share])
        _deal_once(households, names, wanted, best, rng)


def _deal_once(
    households: list[Household],
    names: list[int],
    wanted: list[int],
    share: float,
    rng: random.Random,
) -> int:
    """Deal from the start; gives how many uses of zones found no name."""
    for household in households:
        household.clear()
    left = Counter(dict(enumerate(names)))
    _zones_of_domains(households, wanted, names, share)
    _zones_of_names(households, left, rng)
    return sum(n for n in left.values() if n > 0)


def _published(
    region: Mapping[str, Any], households: Iterable[Household], scale: Fraction
) -> tuple[list[int], list[int]]:
    """Names and domains by zone: those of named domains, and all others at the scale."""
    zones = range(len(region["zone_names"]))
    held = [h for h in households if h.published]
    domains = [sum(z in h.published for h in held) for z in zones]
    names = [sum(LETTERS[z] in s.draft.zones for h in held for s in h.stays) for z in zones]
    return tuple(
        [own + scaled(n * 1000 - own, scale) for n, own in zip(region[key], owns, strict=True)]
        for key, owns in (("zone_names", names), ("zone_domains", domains))
    )  # type: ignore[return-value]


def _households(
    domains: Sequence[DomainDraft], need: Mapping[str, float], rng: random.Random
) -> dict[str, list[Household]]:
    by_region: dict[str, list[Household]] = defaultdict(list)
    for domain in domains:
        own: dict[str, list[Stay]] = defaultdict(list)
        for draft in (d for d in domain.drafts if d.provider == "aws"):
            rooms = per_region(draft)
            if len(rooms) > 1:
                rooms = _limited(draft, rooms, need)
                if rng.random() < _ONE_REGION / (len(rooms) - 1) ** 2:
                    kept = max(draft.regions, key=lambda code: need[code])
                    pairs = zip(draft.regions, rooms, strict=True)
                    rooms = [room if code == kept else 0 for code, room in pairs]
            for region, room in zip(draft.regions, rooms, strict=True):
                own[region].append(Stay(draft, room))
        for region, stays in own.items():
            by_region[region].append(Household(stays))
    return by_region


def _limited(draft: Draft, rooms: Sequence[int], need: Mapping[str, float]) -> list[int]:
    """At most ``_MOST_ZONES`` zones in all, evenly over the regions, more in those that need it."""
    whole, rest = divmod(_MOST_ZONES, len(rooms))
    neediest = sorted(draft.regions, key=lambda code: -need[code])[:rest]
    pairs = zip(draft.regions, rooms, strict=True)
    return [min(room, whole + (code in neediest)) for code, room in pairs]


def _zones_of_domains(
    households: list[Household], wanted: list[int], names: list[int], share: float
) -> None:
    """Deal zones to domains: a share gets none, most get one, the largest get all.

    ``wanted`` are domains by zone, ``names`` the names that these domains must provide.
    """
    able = sorted(
        (h for h in households if h.room),
        key=lambda h: (not h.published, -any(s.draft.pinned for s in h.stays), -len(h.stays)),
    )
    most = min(sum(wanted), len(households) - round(len(households) * share))
    served = able[:most]
    left = Counter(dict(enumerate(wanted)))
    population = sum(len(household.stays) for household in households)
    due = dict(enumerate(map(float, names)))
    singles = _deal_several(served, (left, due), _WIDE * (sum(names) - population))
    # Where few domains have room for two zones, more of them have one.
    singles += able[len(served) :][: max(0, left.total() - len(singles))]
    for household in singles:
        _deal(household, (left, due), 1)


def _deal_several(served: list[Household], zones: Zones, wide: float) -> list[Household]:
    """Deal all zones to the largest domains, that have ``wide`` names, and to some small ones, and
    two to others; gives those for which one is left each."""
    left = zones[0]
    extra = max(0, left.total() - len(served))
    rest: list[Household] = []
    seen = 0
    for household in served:
        if household.published or (seen <= wide and household.room > 1 and extra > 0):
            extra -= _deal(household, zones, min(household.room, 1 + extra))
            seen += len(household.stays)
        else:
            rest.append(household)
    if len(left) > 2:
        small = [h for h in reversed(rest) if h.room > 2 and h.mean_room(3) > 2]
        extra -= _deal_full(small, zones, 3, int(extra * _SMALL_WIDE))
    able = [h for h in rest if not h.zones and h.room > 1 and h.mean_room(2) > 1]
    if wide < extra:  # few names may use two zones, so that small domains do
        able.reverse()
    extra -= _deal_full(able, zones, 2, extra)
    for household in (h for h in rest if not h.zones and h.room > 1 and extra > 0):
        extra -= _deal(household, zones, 2)
    return [h for h in rest if not h.zones]


def _deal_full(households: list[Household], zones: Zones, most: int, extra: int) -> int:
    """Let all names of some domains use ``most`` zones, until ``extra`` beyond the first are dealt;
    gives how many were."""
    spent = 0
    for household in households:
        if extra - spent < most - 1 or sum(n > 0 for n in zones[0].values()) < most:
            break
        spent += _deal(household, zones, most)
        household.full = all(zones[1][z] > 0 for z in household.zones)
    return spent


def _deal(household: Household, zones: Zones, most: int) -> int:
    """Deal up to ``most`` zones, first those that most names are due for each domain left; gives
    how many beyond one."""
    left, due = zones
    open_ones = [z for z in left if left[z] > 0]
    household.zones = sorted(open_ones, key=lambda z: (-due[z] / left[z], -left[z]))[:most]
    if household.published:
        household.zones = sorted(household.published & set(open_ones))
    left.subtract(household.zones)
    for zone in household.zones:
        due[zone] = max(0.0, due[zone] - len(household.stays) * _WILLING)
    return max(0, len(household.zones) - 1)


def _is_crowded(households: list[Household], names: Iterable[int]) -> bool:
    population = sum(len(household.stays) for household in households)
    return max(names, default=0) > _NEARLY_ALL * population


def _zones_of_names(households: list[Household], left: Counter[int], rng: random.Random) -> None:
    """Deal zones to names until each zone has as many as the table says."""
    crowded = _is_crowded(households, left.values())
    for household in households:
        _give_set(household, left)
        _cover(household, left)
    pairs = [(h, s) for h in households for s in h.stays if h.zones and not s.fixed]
    rng.shuffle(pairs)
    spare = 0 if crowded else int(len(pairs) * _NO_ZONE_NAMES)
    idle = [(h, s) for h, s in pairs if not s.zones and s.room]
    for household, stay in idle[spare:]:
        _add_one(household, stay, left, rng)
    for zone in sorted(left, key=lambda z: -left[z]):
        _fill(zone, pairs, left)


def _give_set(household: Household, left: Counter[int]) -> None:
    """Names behind one common name share its addresses, and those of a domain with few machines
    these, so their zones are all alike; others have the zones that a publication gives them."""
    for stay in household.stays:
        draft, own = stay.draft, household.zones
        if draft.zones:
            wanted = [LETTERS.index(letter) for letter in draft.zones]
            own = [z for z in wanted if z in household.zones]
        stay.fixed = draft.pinned or draft.few or bool(draft.zones) or household.full
        if stay.fixed:
            stay.zones = own[:] if draft.pinned else own[: stay.room]
            left.subtract(stay.zones)


def _cover(household: Household, left: Counter[int]) -> None:
    """Every zone of a domain is used by at least one of its names."""
    missing = [z for z in household.zones if not any(z in s.zones for s in household.stays)]
    free = (s for s in sorted(household.stays, key=lambda s: -s.room) if not s.fixed)
    stay = next(free, None)
    for zone in missing:
        while stay is not None and len(stay.zones) >= stay.room:
            stay = next(free, None)
        if stay is not None:
            stay.zones.append(zone)
            left[zone] -= 1


def _add_one(household: Household, stay: Stay, left: Counter[int], rng: random.Random) -> None:
    open_ones = [z for z in household.zones if left[z] > 0]
    if open_ones:
        zone = max(open_ones, key=lambda z: left[z])
        if stay.room > 1:  # which can have others besides
            zone = rng.choices(open_ones, [left[z] for z in open_ones])[0]
        stay.zones.append(zone)
        left[zone] -= 1


def _fill(zone: int, pairs: list[tuple[Household, Stay]], left: Counter[int]) -> None:
    """Add a zone to names that have room: first to those with a zone, then to the others."""
    for empty_too in (False, True):
        for household, stay in pairs:
            if left[zone] <= 0:
                return
            if zone not in household.zones or zone in stay.zones:
                continue
            if len(stay.zones) < stay.room and (stay.zones or empty_too):
                stay.zones.append(zone)
                left[zone] -= 1


def spots_by_zone(
    draft: Draft, zones: Mapping[str, Sequence[int]], rng: random.Random
) -> list[tuple[str, str, int]]:
    """(region, zone letter, addresses) of a draft; no letter where no zone was identified."""
    spots: list[tuple[str, str, int]] = []
    for region, count in zip(draft.regions, per_region(draft), strict=True):
        letters = [LETTERS[z] for z in zones.get(region, ())]
        if draft.label in FLEXIBLE:
            count = max(1, len(letters))
        # All names of a domain agree, or they would need more machines.
        draw, most = rng.random(), _STRAY[1]
        if draft.home:
            draw, most = crc32(f"{draft.home} {region}".encode()) / 2**32, _STRAY[0]
        if not letters or (len(letters) < count and draw < most and not draft.zones):
            letters.append("")
        whole, rest = divmod(count, len(letters))
        spots += [(region, x, whole + (i < rest)) for i, x in enumerate(letters)]
    return [spot for spot in spots if spot[2]]
