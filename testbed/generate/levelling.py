"""How many zones names use: zones change hands between names until the published shares are met.

Names with the zones that Table 12 gives them go in; every zone keeps its number of names and of
domains, since a name gives a zone only to another of its region, and never its domain's last.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from testbed.world.drafts import Draft

LETTERS = "abcdef"


@dataclass(slots=True, eq=False)
class Stay:
    """One name in one region: at most ``room`` zones, since an address has one zone."""

    draft: Draft
    room: int
    zones: list[int] = field(default_factory=list)
    fixed: bool = False  # for good: its zones are those of its domain, or published


@dataclass(slots=True, eq=False)
class Household:
    """The names of one domain in one region, and the zones that the domain uses there.

    All names use all zones, as far as they have addresses, if it is ``full``.
    """

    stays: list[Stay]
    zones: list[int] = field(default_factory=list)
    full: bool = False

    @property
    def room(self) -> int:
        """The most zones that it can use: few machines are those of several of its names."""
        few = max((stay.room for stay in self.stays if stay.draft.few), default=0)
        return few + sum(stay.room for stay in self.stays if not stay.draft.few)

    def clear(self) -> None:
        """Take all zones back."""
        self.zones, self.full = [], False
        for stay in self.stays:
            stay.zones, stay.fixed = [], False

    def mean_room(self, most: int) -> float:
        """Zones that its names use on average if it uses ``most``."""
        return sum(min(stay.room, most) for stay in self.stays) / len(self.stays)

    @property
    def published(self) -> set[int]:
        """The zones that publications give to its names."""
        return {LETTERS.index(letter) for stay in self.stays for letter in stay.draft.zones}


@dataclass(slots=True)
class _Region:
    """Names of one region that may give or take, with the uses that each domain makes of a zone."""

    stays: list[tuple[Household, Stay]]
    uses: dict[int, Counter[int]]
    takers: dict[int, list[tuple[Household, Stay]]]


def level_zones(
    regions: Iterable[list[Household]], shares: Sequence[int], rng: random.Random
) -> None:
    """Move zones between names until ``shares`` per mille of them use one and two, or nothing is
    left to move."""
    if not shares:
        return
    found = [_open_region(households, rng) for households in regions]
    stays = [stay for region in found for _, stay in region.stays]
    evens, losses = _moves(_counts(stays), [share / 1000 for share in shares])
    for size, count in ((3, evens), (1, losses)):
        givers = [(r, h, s) for r in found for h, s in r.stays if _may_move(s, size)]
        rng.shuffle(givers)
        givers.sort(key=lambda giver: -len(giver[1].stays))
        for region, household, stay in givers:
            if count <= 0:
                break
            count -= _give(region, household, stay)


def _open_region(households: list[Household], rng: random.Random) -> _Region:
    stays = [(h, s) for h in households for s in h.stays]
    uses = {id(h): Counter(z for s in h.stays for z in s.zones) for h in households}
    takers: dict[int, list[tuple[Household, Stay]]] = defaultdict(list)
    # Domains of few names take first: so more domains have names in several zones (Figure 13b).
    order = sorted(stays, key=lambda pair: (-len(pair[0].stays), rng.random()))
    for household, stay in order:
        if _may_move(stay, 1) and stay.room > 1:
            for zone in set(household.zones) - set(stay.zones):
                takers[zone].append((household, stay))
    return _Region(stays, uses, takers)


def _may_move(stay: Stay, size: int) -> bool:
    return not stay.fixed and len(stay.draft.regions) == 1 and len(stay.zones) == size


def _counts(stays: Iterable[Stay]) -> Counter[int]:
    """Names by their number of zones, in all regions together."""
    zones: Counter[int] = Counter()
    for stay in stays:
        zones[id(stay.draft)] += len(stay.zones)
    return Counter(n for n in zones.values() if n)


def _moves(counts: Counter[int], shares: Sequence[float]) -> tuple[int, int]:
    """How often a name with three zones gives one to a name with one, so that both have two; and
    how often a name with one gives it to another, so that it has none.

    With a and b of these, one zone is used by n1 - a - 2 b names, two by n2 + 2 a + b, and any by
    n - b; their shares are given, which makes two equations.
    """
    n, (one, two) = sum(counts.values()), shares
    first, second = counts[1] - one * n, two * n - counts[2]
    losses = (2 * first - second) / (2 * (2 - one) - (1 + two))
    return round(first - (2 - one) * losses), round(losses)


def _give(region: _Region, household: Household, stay: Stay) -> bool:
    """Give one zone away, to a name with one that lacks it; whether there was one."""
    for zone in sorted(stay.zones, key=lambda z: -region.uses[id(household)][z]):
        if region.uses[id(household)][zone] < 2:
            return False
        takers = region.takers[zone]
        while takers:
            home, taker = takers.pop()
            if len(taker.zones) == 1 and zone not in taker.zones and taker is not stay:
                stay.zones.remove(zone)
                taker.zones.append(zone)
                region.uses[id(household)][zone] -= 1
                region.uses[id(home)][zone] += 1
                return True
    return False
