"""Which availability zones each name uses, region by region, so that Table 12 comes out.

A name may use no identified zone at all: the study could place 87 % of all instances. Zones are
first dealt to domains, the large ones getting all, then to their names.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from testbed.apportion import scaled
from testbed.drafts import DomainDraft, Draft
from testbed.instances import FLEXIBLE, per_region
from testbed.levelling import LETTERS, Household, Stay, level_zones

# Shares of domains and of names without an identified zone (chosen to fit Figure 13a).
_NO_ZONE_DOMAINS = 0.04
_NO_ZONE_NAMES = 0.05
# The same where zones are crowded: the tail's zones are better spent on a second one elsewhere.
_NO_ZONE_CROWDED = 0.15
# Where a zone is used by more than this share of names, none can go without any.
_NEARLY_ALL = 0.85
# Share of a region's names in the domains that use all of its zones, for each zone that its names
# use beyond one; the next domains use two (chosen to fit Figure 13b).
_WIDE = 0.65
# Share of the names of a domain with all zones that can be expected to use any one of them.
_WILLING = 0.97


def deal_zones(
    domains: Sequence[DomainDraft], section: Mapping[str, Any], scale: Fraction, rng: random.Random
) -> dict[int, dict[str, list[int]]]:
    """Zones (positions in ``LETTERS``) by ``id`` of the draft and region, for AWS."""
    found: dict[int, dict[str, list[int]]] = defaultdict(dict)
    by_region = _households(domains)
    for region in section["regions"]:
        households = by_region.get(region["code"], [])
        names = [scaled(n * 1000, scale) for n in region["zone_names"]]
        wanted = [scaled(n * 1000, scale) for n in region["zone_domains"]]
        _zones_of_domains(households, wanted, names)
        _zones_of_names(households, Counter(dict(enumerate(names))), rng)
    level_zones(by_region.values(), section.get("zone_counts", ()), rng)
    for code, households in by_region.items():
        for stay in (s for h in households for s in h.stays):
            found[id(stay.draft)][code] = sorted(stay.zones)
    return found


def _households(domains: Sequence[DomainDraft]) -> dict[str, list[Household]]:
    by_region: dict[str, list[Household]] = defaultdict(list)
    for domain in domains:
        own: dict[str, list[Stay]] = defaultdict(list)
        for draft in (d for d in domain.drafts if d.provider == "aws"):
            for region, count in zip(draft.regions, per_region(draft), strict=True):
                own[region].append(Stay(draft, count))
        for region, stays in own.items():
            by_region[region].append(Household(stays))
    return by_region


def _zones_of_domains(households: list[Household], wanted: list[int], names: list[int]) -> None:
    """Deal zones to domains: some get none, most get one, the largest get all.

    ``wanted`` are domains by zone, ``names`` the names that these domains must provide.
    """
    households.sort(
        key=lambda h: (not h.published, -any(s.draft.pinned for s in h.stays), -len(h.stays))
    )
    share = _NO_ZONE_CROWDED if _is_crowded(households, names) else _NO_ZONE_DOMAINS
    without = max(len(households) - sum(wanted), round(len(households) * share))
    served = households[: len(households) - without]
    extra = max(0, sum(wanted) - len(served))
    left = Counter(dict(enumerate(wanted)))
    population = sum(len(household.stays) for household in households)
    seen, wide = 0, _WIDE * (sum(names) - population)
    for number, household in enumerate(served):
        if extra <= 0:
            _deal_single(served[number:], left, _still_due(served[:number], names))
            return
        most = min(sum(stay.room for stay in household.stays), 1 + extra)
        seen += len(household.stays)
        if seen > wide:
            most = min(most, 2)
        open_ones = [z for z in left if left[z] > 0]
        household.zones = sorted(open_ones, key=lambda z: -left[z])[:most]
        if household.published:
            household.zones = sorted(household.published & set(open_ones))
        extra -= max(0, len(household.zones) - 1)
        left.subtract(household.zones)


def _is_crowded(households: list[Household], names: Iterable[int]) -> bool:
    population = sum(len(household.stays) for household in households)
    return max(names, default=0) > _NEARLY_ALL * population


def _still_due(large: list[Household], names: list[int]) -> dict[int, float]:
    """Names that a zone needs beyond those that the domains with all zones can give it."""
    given = Counter(z for h in large for z in h.zones for _ in h.stays)
    return {z: max(0.0, count - given[z] * _WILLING) for z, count in enumerate(names)}


def _deal_single(households: list[Household], left: Counter[int], due: dict[int, float]) -> None:
    """One zone for each: the zone that needs most names gets the larger domains."""
    for household in households:
        open_ones = [z for z in left if left[z] > 0]
        if open_ones:
            zone = max(open_ones, key=lambda z: (due[z] / left[z], left[z]))
            household.zones = [zone]
            left[zone] -= 1
            due[zone] = max(0.0, due[zone] - len(household.stays))


def _zones_of_names(households: list[Household], left: Counter[int], rng: random.Random) -> None:
    """Deal zones to names until each zone has as many as the table says."""
    crowded = _is_crowded(households, left.values())
    for household in households:
        _give_set(household, left)
        _cover(household, left)
    pairs = [(h, s) for h in households for s in h.stays if h.zones]
    rng.shuffle(pairs)
    spare = 0 if crowded else int(len(pairs) * _NO_ZONE_NAMES)
    idle = [(h, s) for h, s in pairs if not s.zones and not s.is_set]
    for household, stay in idle[spare:]:
        _add_one(household, stay, left, rng)
    for zone in sorted(left, key=lambda z: -left[z]):
        _fill(zone, pairs, left)


def _give_set(household: Household, left: Counter[int]) -> None:
    """Names behind one common name share its addresses, so their zones are all alike; others have
    the zones that a publication gives them."""
    for stay in household.stays:
        if stay.draft.pinned:
            stay.zones = list(household.zones)
        elif stay.draft.zones:
            own = [LETTERS.index(letter) for letter in stay.draft.zones]
            stay.zones = [z for z in own if z in household.zones][: stay.room]
        if stay.is_set:
            left.subtract(stay.zones)


def _cover(household: Household, left: Counter[int]) -> None:
    """Every zone of a domain is used by at least one of its names."""
    missing = [z for z in household.zones if not any(z in s.zones for s in household.stays)]
    free = (s for s in sorted(household.stays, key=lambda s: -s.room) if not s.is_set)
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
        zone = rng.choices(open_ones, [left[z] for z in open_ones])[0]
        stay.zones.append(zone)
        left[zone] -= 1


def _fill(zone: int, pairs: list[tuple[Household, Stay]], left: Counter[int]) -> None:
    """Add a zone to names that have room: first to those with a zone, then to the others."""
    for empty_too in (False, True):
        for household, stay in pairs:
            if left[zone] <= 0:
                return
            if zone not in household.zones or zone in stay.zones or stay.is_set:
                continue
            if len(stay.zones) < stay.room and (stay.zones or empty_too):
                stay.zones.append(zone)
                left[zone] -= 1


def spots_by_zone(draft: Draft, zones: Mapping[str, Sequence[int]]) -> list[tuple[str, str, int]]:
    """(region, zone letter, addresses) of a draft; no letter where no zone was identified."""
    spots: list[tuple[str, str, int]] = []
    for region, count in zip(draft.regions, per_region(draft), strict=True):
        letters = [LETTERS[z] for z in zones.get(region, ())] or [""]
        if draft.label in FLEXIBLE:
            count = len(letters)
        whole, rest = divmod(count, len(letters))
        spots += [(region, x, whole + (i < rest)) for i, x in enumerate(letters)]
    return [spot for spot in spots if spot[2]]
