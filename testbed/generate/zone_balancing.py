"""Exchange of zones between names until the published numbers of zones per name are met.

Every zone keeps its number of names and of domains (Table 12), since a name passes a zone only to
another name of its region, and never the last use of its domain.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from testbed.world.drafts import Draft

LETTERS = "abcdef"


@dataclass(slots=True, eq=False)
class RegionalName:
    """One name in one region: at most ``capacity`` zones, since an address has one zone."""

    draft: Draft
    capacity: int
    zones: list[int] = field(default_factory=list)
    fixed: bool = False  # not exchanged: its zones are those of its domain, or published


@dataclass(slots=True, eq=False)
class RegionalDomain:
    """The names of one domain in one region, and the zones that the domain uses there.

    All names use all zones, as far as they have addresses, if it is ``full``.
    """

    names: list[RegionalName]
    zones: list[int] = field(default_factory=list)
    full: bool = False

    @property
    def capacity(self) -> int:
        """Maximum number of zones: names with few machines share them."""
        few = max((name.capacity for name in self.names if name.draft.few_machines), default=0)
        return few + sum(name.capacity for name in self.names if not name.draft.few_machines)

    def clear(self) -> None:
        """Remove all zones."""
        self.zones, self.full = [], False
        for name in self.names:
            name.zones, name.fixed = [], False

    def mean_capacity(self, most: int) -> float:
        """Return the mean number of zones per name if the domain uses ``most``."""
        return sum(min(name.capacity, most) for name in self.names) / len(self.names)

    @property
    def published(self) -> set[int]:
        """The zones that publications give to its names."""
        return {LETTERS.index(letter) for name in self.names for letter in name.draft.zones}


@dataclass(slots=True)
class _Region:
    """Names of one region that may exchange zones, with zone uses by domain."""

    names: list[tuple[RegionalDomain, RegionalName]]
    uses: dict[int, Counter[int]]
    receivers: dict[int, list[tuple[RegionalDomain, RegionalName]]]


def balance_zones(
    regions: Iterable[list[RegionalDomain]], shares: Sequence[int], rng: random.Random
) -> None:
    """Move zones between names until ``shares`` per mille of them use one and two, or nothing is
    left to move."""
    if not shares:
        return
    found = [_index_region(domains, rng) for domains in regions]
    names = [name for region in found for _, name in region.names]
    evens, losses = _count_moves(_counts(names), [share / 1000 for share in shares])
    for size, count in ((3, evens), (1, losses)):
        donors = [(r, h, s) for r in found for h, s in r.names if _may_move(s, size)]
        rng.shuffle(donors)
        donors.sort(key=lambda donor: -len(donor[1].names))
        for region, domain, name in donors:
            if count <= 0:
                break
            count -= _transfer_zone(region, domain, name)


def _index_region(domains: list[RegionalDomain], rng: random.Random) -> _Region:
    names = [(h, s) for h in domains for s in h.names]
    uses = {id(h): Counter(z for s in h.names for z in s.zones) for h in domains}
    receivers: dict[int, list[tuple[RegionalDomain, RegionalName]]] = defaultdict(list)
    # Domains of few names receive first, so more domains have names in several zones (Figure 13b).
    order = sorted(names, key=lambda pair: (-len(pair[0].names), rng.random()))
    for domain, name in order:
        if _may_move(name, 1) and name.capacity > 1:
            for zone in set(domain.zones) - set(name.zones):
                receivers[zone].append((domain, name))
    return _Region(names, uses, receivers)


def _may_move(name: RegionalName, size: int) -> bool:
    return not name.fixed and len(name.draft.regions) == 1 and len(name.zones) == size


def _counts(names: Iterable[RegionalName]) -> Counter[int]:
    """Names by their number of zones, in all regions together."""
    zones: Counter[int] = Counter()
    for name in names:
        zones[id(name.draft)] += len(name.zones)
    return Counter(n for n in zones.values() if n)


def _count_moves(counts: Counter[int], shares: Sequence[float]) -> tuple[int, int]:
    """How often a name with three zones gives one to a name with one, so that both have two; and
    how often a name with one gives it to another, so that it has none.

    With a and b of these, one zone is used by n1 - a - 2 b names, two by n2 + 2 a + b, and any by
    n - b; their shares are given, which makes two equations.
    """
    n, (one, two) = sum(counts.values()), shares
    first, second = counts[1] - one * n, two * n - counts[2]
    losses = (2 * first - second) / (2 * (2 - one) - (1 + two))
    return round(first - (2 - one) * losses), round(losses)


def _transfer_zone(region: _Region, domain: RegionalDomain, name: RegionalName) -> bool:
    """Move one zone to a name that has one other zone; return whether one was found."""
    for zone in sorted(name.zones, key=lambda z: -region.uses[id(domain)][z]):
        if region.uses[id(domain)][zone] < 2:
            return False
        receivers = region.receivers[zone]
        while receivers:
            home, receiver = receivers.pop()
            if len(receiver.zones) == 1 and zone not in receiver.zones and receiver is not name:
                name.zones.remove(zone)
                receiver.zones.append(zone)
                region.uses[id(domain)][zone] -= 1
                region.uses[id(home)][zone] += 1
                return True
    return False
