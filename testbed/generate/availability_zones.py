"""Assignment of availability zones to names, region by region, that reproduces Table 12.

A name may use no identified zone at all: the study could place 87 % of all instances. Zones are
first assigned to domains, all zones to the large ones, then to their names.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from zlib import crc32

from testbed.generate.addresses.instances import FLEXIBLE, split_by_region
from testbed.generate.addresses.machines import zone_demand
from testbed.generate.apportion import scaled
from testbed.generate.zone_balancing import LETTERS, RegionalDomain, RegionalName, balance_zones
from testbed.world.drafts import DomainDraft, Draft

# Shares of a region's domains without an identified zone. Where zones are crowded, the first that
# leaves the others capacity for all names: what the smallest would have is a second zone of others.
_NO_ZONE_DOMAINS = (0.053, 0.1, 0.15, 0.2, 0.225, 0.25, 0.275, 0.3)
# Share of names without one (chosen to fit Figure 13a).
_NO_ZONE_NAMES = 0.05
# Where a zone is used by more than this share of names, none can go without any.
_NEARLY_ALL = 0.85
# Share of a region's names in the domains that use all of its zones, for each zone that its names
# use beyond one (chosen to fit Figure 13b).
_ALL_ZONES_SHARE = 0.65
# Of the zones beyond the first of a domain that are left then, share that goes to small domains
# with three zones; the others have two (chosen to fit Figure 13b).
_THREE_ZONES_SHARE = 0.57
# Zones of one name, at most (Figure 13a), and share of the names in two regions with zones
# identified in only one of them, more seldom in more regions (chosen to fit section 4.4.3).
_MOST_ZONES = 6
_ONE_REGION = 0.7
# Share of names with addresses beyond one for each zone in an unidentified zone:
# of domains with shared machines, and of other fronts.
_UNIDENTIFIED_SHARES = (0.5, 0.12)
# Share of the names of a domain that can be expected to use any one of its zones.
_ZONE_USE_SHARE = 0.97

# What remains to be assigned in a region, by zone: domains, and the names they must have.
RemainingZones = tuple[Counter[int], dict[int, float]]


def assign_zones(
    domains: Sequence[DomainDraft], section: Mapping[str, Any], scale: Fraction, rng: random.Random
) -> dict[int, dict[str, list[int]]]:
    """Return zones (positions in ``LETTERS``) by ``id`` of the draft and region, for AWS."""
    found: dict[int, dict[str, list[int]]] = defaultdict(dict)
    by_region = _regional_domains(domains, zone_demand(section), rng)
    for region in section["regions"]:
        regional = by_region.get(region["code"], [])
        _assign_region(regional, *_published(region, regional, scale), rng)
    balance_zones(by_region.values(), section.get("zone_counts", ()), rng)
    for code, regional in by_region.items():
        for name in (s for h in regional for s in h.names):
            found[id(name.draft)][code] = sorted(name.zones)
    return found


def _assign_region(
    domains: list[RegionalDomain], names: list[int], wanted: list[int], rng: random.Random
) -> None:
    """Assign zones to domains and their names; as few domains as possible get none.

    ``wanted`` are domains by zone, ``names`` names.
    """
    short: dict[float, int] = {}
    for share in _NO_ZONE_DOMAINS if _is_crowded(domains, names) else _NO_ZONE_DOMAINS[:1]:
        short[share] = _assign_with_share(domains, names, wanted, share, rng)
        if not short[share]:
            return
    if len(short) > 1:
        best = min(short, key=lambda share: short[share])
        _assign_with_share(domains, names, wanted, best, rng)


def _assign_with_share(
    domains: list[RegionalDomain],
    names: list[int],
    wanted: list[int],
    share: float,
    rng: random.Random,
) -> int:
    """Assign all zones again; return the number of zone uses without a name."""
    for domain in domains:
        domain.clear()
    left = Counter(dict(enumerate(names)))
    _assign_to_domains(domains, wanted, names, share)
    _assign_to_names(domains, left, rng)
    return sum(n for n in left.values() if n > 0)


def _published(
    region: Mapping[str, Any], regional: Iterable[RegionalDomain], scale: Fraction
) -> tuple[list[int], list[int]]:
    """Return names and domains by zone: named domains as published, others scaled."""
    zones = range(len(region["zone_names"]))
    held = [h for h in regional if h.published]
    domains = [sum(z in h.published for h in held) for z in zones]
    names = [sum(LETTERS[z] in s.draft.zones for h in held for s in h.names) for z in zones]
    return tuple(
        [own + scaled(n * 1000 - own, scale) for n, own in zip(region[key], owns, strict=True)]
        for key, owns in (("zone_names", names), ("zone_domains", domains))
    )  # type: ignore[return-value]


def _regional_domains(
    domains: Sequence[DomainDraft], need: Mapping[str, float], rng: random.Random
) -> dict[str, list[RegionalDomain]]:
    by_region: dict[str, list[RegionalDomain]] = defaultdict(list)
    for domain in domains:
        own: dict[str, list[RegionalName]] = defaultdict(list)
        for draft in (d for d in domain.drafts if d.provider == "aws"):
            capacities = split_by_region(draft)
            if len(capacities) > 1:
                capacities = _limit_capacity(draft, capacities, need)
                if rng.random() < _ONE_REGION / (len(capacities) - 1) ** 2:
                    kept = max(draft.regions, key=lambda code: need[code])
                    pairs = zip(draft.regions, capacities, strict=True)
                    capacities = [capacity if code == kept else 0 for code, capacity in pairs]
            for region, capacity in zip(draft.regions, capacities, strict=True):
                own[region].append(RegionalName(draft, capacity))
        for region, names in own.items():
            by_region[region].append(RegionalDomain(names))
    return by_region


def _limit_capacity(
    draft: Draft, capacities: Sequence[int], need: Mapping[str, float]
) -> list[int]:
    """Limit a name to ``_MOST_ZONES`` zones over all regions, more where demand is high."""
    whole, rest = divmod(_MOST_ZONES, len(capacities))
    neediest = sorted(draft.regions, key=lambda code: -need[code])[:rest]
    pairs = zip(draft.regions, capacities, strict=True)
    return [min(capacity, whole + (code in neediest)) for code, capacity in pairs]


def _assign_to_domains(
    domains: list[RegionalDomain], wanted: list[int], names: list[int], share: float
) -> None:
    """Assign zones to domains: a share gets none, most get one, the largest get all.

    ``wanted`` are domains by zone, ``names`` the names that these domains must provide.
    """
    able = sorted(
        (h for h in domains if h.capacity),
        key=lambda h: (not h.published, -any(s.draft.pinned for s in h.names), -len(h.names)),
    )
    most = min(sum(wanted), len(domains) - round(len(domains) * share))
    served = able[:most]
    left = Counter(dict(enumerate(wanted)))
    population = sum(len(domain.names) for domain in domains)
    due = dict(enumerate(map(float, names)))
    singles = _assign_multiple_zones(
        served, (left, due), _ALL_ZONES_SHARE * (sum(names) - population)
    )
    # Where few domains have capacity for two zones, more of them have one.
    singles += able[len(served) :][: max(0, left.total() - len(singles))]
    for domain in singles:
        _assign_to_domain(domain, (left, due), 1)


def _assign_multiple_zones(
    served: list[RegionalDomain], zones: RemainingZones, wide: float
) -> list[RegionalDomain]:
    """Assign all zones to the largest domains, which have ``wide`` names, and to some small ones,
    and two to others; return the domains left with one zone each."""
    left = zones[0]
    extra = max(0, left.total() - len(served))
    rest: list[RegionalDomain] = []
    seen = 0
    for domain in served:
        if domain.published or (seen <= wide and domain.capacity > 1 and extra > 0):
            extra -= _assign_to_domain(domain, zones, min(domain.capacity, 1 + extra))
            seen += len(domain.names)
        else:
            rest.append(domain)
    if len(left) > 2:
        small = [h for h in reversed(rest) if h.capacity > 2 and h.mean_capacity(3) > 2]
        extra -= _assign_to_all_names(small, zones, 3, int(extra * _THREE_ZONES_SHARE))
    able = [h for h in rest if not h.zones and h.capacity > 1 and h.mean_capacity(2) > 1]
    if wide < extra:  # few names may use two zones, so that small domains do
        able.reverse()
    extra -= _assign_to_all_names(able, zones, 2, extra)
    for domain in (h for h in rest if not h.zones and h.capacity > 1 and extra > 0):
        extra -= _assign_to_domain(domain, zones, 2)
    return [h for h in rest if not h.zones]


def _assign_to_all_names(
    domains: list[RegionalDomain], zones: RemainingZones, most: int, extra: int
) -> int:
    """Let all names of some domains use ``most`` zones, until ``extra`` beyond the first are
    assigned; return how many were."""
    spent = 0
    for domain in domains:
        if extra - spent < most - 1 or sum(n > 0 for n in zones[0].values()) < most:
            break
        spent += _assign_to_domain(domain, zones, most)
        domain.full = all(zones[1][z] > 0 for z in domain.zones)
    return spent


def _assign_to_domain(domain: RegionalDomain, zones: RemainingZones, most: int) -> int:
    """Assign up to ``most`` zones, first those with most names due per remaining domain; return
    how many beyond one."""
    left, due = zones
    unassigned = [z for z in left if left[z] > 0]
    domain.zones = sorted(unassigned, key=lambda z: (-due[z] / left[z], -left[z]))[:most]
    if domain.published:
        domain.zones = sorted(domain.published & set(unassigned))
    left.subtract(domain.zones)
    for zone in domain.zones:
        due[zone] = max(0.0, due[zone] - len(domain.names) * _ZONE_USE_SHARE)
    return max(0, len(domain.zones) - 1)


def _is_crowded(domains: list[RegionalDomain], names: Iterable[int]) -> bool:
    population = sum(len(domain.names) for domain in domains)
    return max(names, default=0) > _NEARLY_ALL * population


def _assign_to_names(domains: list[RegionalDomain], left: Counter[int], rng: random.Random) -> None:
    """Assign zones to names until each zone has its published number."""
    crowded = _is_crowded(domains, left.values())
    for domain in domains:
        _assign_fixed_zones(domain, left)
        _cover(domain, left)
    pairs = [(h, s) for h in domains for s in h.names if h.zones and not s.fixed]
    rng.shuffle(pairs)
    spare = 0 if crowded else int(len(pairs) * _NO_ZONE_NAMES)
    idle = [(h, s) for h, s in pairs if not s.zones and s.capacity]
    for domain, name in idle[spare:]:
        _add_one(domain, name, left, rng)
    for zone in sorted(left, key=lambda z: -left[z]):
        _fill(zone, pairs, left)


def _assign_fixed_zones(domain: RegionalDomain, left: Counter[int]) -> None:
    """Names behind one common name share its addresses, and those of a domain with few machines
    these, so their zones are all alike; others have the zones that a publication gives them."""
    for name in domain.names:
        draft, own = name.draft, domain.zones
        if draft.zones:
            wanted = [LETTERS.index(letter) for letter in draft.zones]
            own = [z for z in wanted if z in domain.zones]
        name.fixed = draft.pinned or draft.few_machines or bool(draft.zones) or domain.full
        if name.fixed:
            name.zones = own[:] if draft.pinned else own[: name.capacity]
            left.subtract(name.zones)


def _cover(domain: RegionalDomain, left: Counter[int]) -> None:
    """Ensure that at least one name of a domain uses each of its zones."""
    missing = [z for z in domain.zones if not any(z in s.zones for s in domain.names)]
    free = (s for s in sorted(domain.names, key=lambda s: -s.capacity) if not s.fixed)
    name = next(free, None)
    for zone in missing:
        while name is not None and len(name.zones) >= name.capacity:
            name = next(free, None)
        if name is not None:
            name.zones.append(zone)
            left[zone] -= 1


def _add_one(
    domain: RegionalDomain, name: RegionalName, left: Counter[int], rng: random.Random
) -> None:
    unassigned = [z for z in domain.zones if left[z] > 0]
    if unassigned:
        zone = max(unassigned, key=lambda z: left[z])
        if name.capacity > 1:  # which can have others besides
            zone = rng.choices(unassigned, [left[z] for z in unassigned])[0]
        name.zones.append(zone)
        left[zone] -= 1


def _fill(zone: int, pairs: list[tuple[RegionalDomain, RegionalName]], left: Counter[int]) -> None:
    """Add a zone to names that have capacity: first to those with a zone, then to the others."""
    for empty_too in (False, True):
        for domain, name in pairs:
            if left[zone] <= 0:
                return
            if zone not in domain.zones or zone in name.zones:
                continue
            if len(name.zones) < name.capacity and (name.zones or empty_too):
                name.zones.append(zone)
                left[zone] -= 1


def addresses_by_zone(
    draft: Draft, zones: Mapping[str, Sequence[int]], rng: random.Random
) -> list[tuple[str, str, int]]:
    """Return (region, zone letter, addresses) of a draft; an unidentified zone has no letter."""
    placements: list[tuple[str, str, int]] = []
    for region, count in zip(draft.regions, split_by_region(draft), strict=True):
        letters = [LETTERS[z] for z in zones.get(region, ())]
        if draft.label in FLEXIBLE:
            count = max(1, len(letters))
        # All names of a domain agree, or they would need more machines.
        draw, most = rng.random(), _UNIDENTIFIED_SHARES[1]
        if draft.machine_domain:
            draw, most = (
                crc32(f"{draft.machine_domain} {region}".encode()) / 2**32,
                _UNIDENTIFIED_SHARES[0],
            )
        if not letters or (len(letters) < count and draw < most and not draft.zones):
            letters.append("")
        whole, rest = divmod(count, len(letters))
        placements += [(region, x, whole + (i < rest)) for i, x in enumerate(letters)]
    return [placement for placement in placements if placement[2]]
