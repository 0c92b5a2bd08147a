"""How many names of which kind each domain has.

First every domain gets the few names that its profile demands, then the rest of the names goes
where names of that kind are already, so that the many names change no domain count.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.generate.apportion import apportion, apportion_within
from testbed.generate.profiles import Profile
from testbed.generate.targets import Target
from testbed.world.drafts import Kind, Regions

# Sizes of domains fall as a power of their place (chosen); a few hold most of the names.
_SIZE_POWER = 0.9
_SIZE_OFFSET = 3

Population = list[Counter[Kind]]


class NamePlacement:
    """Places the names of a target in domains and counts the target down."""

    def __init__(self, target: Target, section: Mapping[str, Any], n_domains: int) -> None:
        self.target = target
        self.bound: Mapping[str, str] = section["bound_to"]
        self.multi: Sequence[str] = section["multi_region"]
        self.found: Population = [Counter() for _ in range(n_domains)]
        self.domains_by_kind: dict[Kind, list[int]] = defaultdict(list)

    def place(self, domain: int, kind: Kind, count: int = 1) -> None:
        """Place ``count`` names of one kind in a domain; the target must still hold them."""
        label, regions = kind
        if kind not in self.found[domain]:
            self.domains_by_kind[kind].append(domain)
        self.found[domain][kind] += count
        self.target.names[label] -= count
        if len(regions) == 1:
            self.target.singles[regions[0]] -= count
        else:
            self.target.sets[regions] -= count

    def available_label(self, label: str) -> str:
        """``label`` if any of its names are left, else the free one with most left."""
        if self.target.names[label] > 0:
            return label
        free = [x for x in self.target.names if x not in self.bound]
        return max(free, key=lambda x: self.target.names[x])

    def choose_region(self, label: str, regions: Sequence[str]) -> str:
        """The region among ``regions`` with most names left, or any that has some left."""
        if label in self.bound:
            return self.bound[label]
        singles = self.target.singles
        best = max(regions, key=lambda r: singles[r])
        return best if singles[best] > 0 else max(singles, key=lambda r: singles[r])


def populate(
    target: Target, section: Mapping[str, Any], profiles: list[Profile], rng: random.Random
) -> Population:
    """Names by kind for each domain; uses up the whole of ``target``'s names."""
    placement = NamePlacement(target, section, len(profiles))
    if not profiles:
        return placement.found
    for domain, profile in enumerate(profiles):
        if sum(target.names.values()) > 0:
            _place_required(placement, domain, profile)
    sizes = _sizes(len(profiles), rng)
    for kind, count in _remaining_kinds(placement):
        _spread(placement, kind, count, sizes)
    return placement.found


def _place_required(placement: NamePlacement, domain: int, profile: Profile) -> None:
    """The names that a profile demands: every label, every region, the wide set once."""
    uncovered = list(profile.regions)
    for position, wanted in enumerate(_order_labels(placement, profile)):
        label = placement.available_label(wanted)
        if placement.target.names[label] <= 0:
            return
        if position == 0 and profile.wide and placement.target.sets[profile.wide] > 0:
            placement.place(domain, (label, profile.wide))
            uncovered = []
            continue
        region = placement.choose_region(label, uncovered or profile.regions)
        placement.place(domain, (label, (region,)))
        uncovered = [code for code in uncovered if code != region]
    _place_regions(placement, domain, profile, uncovered)


def _order_labels(placement: NamePlacement, profile: Profile) -> list[str]:
    return (
        sorted(profile.labels, key=lambda x: x not in placement.multi)
        if profile.wide
        else (profile.labels)
    )


def _place_regions(
    placement: NamePlacement, domain: int, profile: Profile, uncovered: list[str]
) -> None:
    free = [x for x in profile.labels if x not in placement.bound]
    for region in uncovered:
        if free and placement.target.singles[region] > 0:
            label = placement.available_label(max(free, key=lambda x: placement.target.names[x]))
            if placement.target.names[label] > 0:
                placement.place(domain, (label, (region,)))


def _remaining_kinds(placement: NamePlacement) -> list[tuple[Kind, int]]:
    """Split the rest of the target into kinds that keep its row and column sums."""
    names, singles, sets = placement.target.names, placement.target.singles, placement.target.sets
    rows = {label: n for label, n in names.items() if n > 0}
    kinds: list[tuple[Kind, int]] = []
    capacity = Counter(singles)
    for label, home in placement.bound.items():
        if rows.get(label):
            count = rows.pop(label)
            capacity[home] -= count
            kinds.append(((label, (home,)), count))
    for regions in [s for s in sets if sets[s] > 0]:
        kinds += _split_by_label(placement, rows, regions, sets[regions])
    for label in sorted(rows, key=lambda x: rows[x]):
        kinds += _split_by_region(placement, label, rows[label], capacity)
    return kinds


def _split_by_region(
    placement: NamePlacement, label: str, count: int, capacity: Counter[str]
) -> list[tuple[Kind, int]]:
    """Split one label's names over regions: those where a domain has it, then any other."""
    kinds: list[tuple[Kind, int]] = []
    at_home = [r for r in capacity if placement.domains_by_kind.get((label, (r,)))]
    for regions in (at_home, list(capacity)):
        caps = [max(0, capacity[r]) for r in regions]
        parts = apportion_within(min(count, sum(caps)), caps, [0] * len(caps), caps)
        for region, part in zip(regions, parts, strict=True):
            capacity[region] -= part
            count -= part
            if part:
                kinds.append(((label, (region,)), part))
    return kinds


def _split_by_label(
    placement: NamePlacement, rows: dict[str, int], regions: Regions, count: int
) -> list[tuple[Kind, int]]:
    """Split one column over the labels that have domains there, by what each has left."""
    fit = [x for x in rows if len(regions) == 1 or x in placement.multi] or list(rows)
    homes = [x for x in fit if placement.domains_by_kind.get((x, regions))]
    kinds: list[tuple[Kind, int]] = []
    for labels in (homes, fit, list(rows)):
        unassigned = [x for x in labels if rows[x] > 0]
        if count <= 0 or not unassigned:
            continue
        whole = sum(rows[x] for x in unassigned)
        parts = apportion(min(count, whole), [rows[x] for x in unassigned])
        for label, part in zip(unassigned, parts, strict=True):
            rows[label] -= part
            count -= part
            if part:
                kinds.append(((label, regions), part))
    return kinds


def _sizes(n_domains: int, rng: random.Random) -> list[float]:
    sizes = [(i + _SIZE_OFFSET) ** -_SIZE_POWER for i in range(n_domains)]
    rng.shuffle(sizes)
    return sizes


def _spread(placement: NamePlacement, kind: Kind, count: int, sizes: list[float]) -> None:
    """Give names of one kind to domains that have such names already, to large ones more."""
    homes = placement.domains_by_kind.get(kind) or _nearest_domains(placement, kind)
    parts = apportion(count, [round(sizes[d] * 10**6) for d in homes])
    for domain, part in zip(list(homes), parts, strict=True):
        if part:
            placement.place(domain, kind, part)


def _nearest_domains(placement: NamePlacement, kind: Kind) -> list[int]:
    """Return the domains with the most similar kind, for a kind that no domain has."""
    label, regions = kind
    wanted = set(regions)
    near = [k for k in placement.domains_by_kind if wanted <= set(k[1])]
    near = near or [k for k in placement.domains_by_kind if k[0] == label]
    near = near or list(placement.domains_by_kind)
    return [placement.domains_by_kind[near[0]][0]] if near else [0]
