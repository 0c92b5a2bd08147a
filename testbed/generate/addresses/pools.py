"""Pools of addresses that names share, sized so that each kind has its published number.

Names take consecutive addresses while a window slides over the pool: neighbours share, every
address is used, and the distinct addresses of a kind are exactly those of its pools. Names of one
machine domain share its allocation.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.apportion import apportion, apportion_within
from testbed.world.drafts import Draft, PoolKey

# Names behind each busy address (chosen; ten are many, section 4.4.1).
_BUSY_NAMES = 14
# One of these is one kind for the count of busy addresses: load balancers.
BALANCED = ("elb", "beanstalk", "heroku-elb")


@dataclass(slots=True)
class Pool:
    """Addresses of one label in one zone; ``demand`` is the total number of requests.

    The first ``busy`` addresses serve more names than the others; ``fleet_sizes`` counts the
    addresses of each machine domain, ``held`` are their positions once allocated.
    """

    demand: int
    addresses: list[str] = field(default_factory=list)
    allocated: int = 0
    busy: int = 0
    fleet_sizes: dict[str, int] = field(default_factory=dict)
    held: dict[str, list[int]] = field(default_factory=dict)

    def allocate(self, count: int, home: str = "") -> list[int]:
        """Return positions of ``count`` distinct addresses (all, if there are fewer): the next
        ones, or the first of the fleet of a machine domain."""
        if not home:
            return self._next_positions(count)
        if home not in self.held:
            self.held[home] = self._next_positions(self.fleet_sizes[home])
        return self.held[home][:count]

    def _next_positions(self, count: int) -> list[int]:
        size, many = len(self.addresses), self.busy * _BUSY_NAMES
        first, start = 0, self.allocated // _BUSY_NAMES
        if self.allocated < many and count <= self.busy:
            size = self.busy
        elif self.allocated >= many:
            first, size = self.busy, size - self.busy
            start = (self.allocated - many) * size // max(1, self.demand - many)
        self.allocated += count
        return [first + (start + i) % size for i in range(min(count, size))]


@dataclass(frozen=True, slots=True)
class PublishedCounts:
    """Published address counts of a cloud.

    ``instances`` counts them by provider and label; ``identified`` is the share with a
    known zone, and ``busy`` the share of load balancers' that many names use, by provider.
    """

    instances: Mapping[tuple[str, str], int]
    identified: Mapping[str, float]
    busy: Mapping[str, float]


def build_pools(
    drafts: Iterable[Draft], supplies: PublishedCounts, allocator: AddressAllocator
) -> dict[PoolKey, Pool]:
    """Build the pools for all placements of ``drafts``.

    Front ends with an owner get exclusive addresses; the others share the rest.
    """
    demand: Counter[PoolKey] = Counter()
    largest: Counter[PoolKey] = Counter()
    fleets: dict[PoolKey, Counter[str]] = defaultdict(Counter)
    for draft in drafts:
        for key, count in draft.placements:
            more = (
                max(0, count - fleets[key][draft.machine_domain]) if draft.machine_domain else count
            )
            if draft.machine_domain:
                fleets[key][draft.machine_domain] += more
            demand[key] += more
            largest[key] = max(largest[key], count)
    groups: dict[tuple[str, str], list[PoolKey]] = defaultdict(list)
    for key in demand:
        groups[key[0], key[1].partition("/")[0]].append(key)
    pools: dict[PoolKey, Pool] = {}
    for group, keys in groups.items():
        total = supplies.instances.get(group, sum(demand[key] for key in keys))
        known = supplies.identified.get(group[0])
        for key, size in _sizes(keys, demand, largest, total, known):
            found = [allocator.compute_address(key[0], key[2], key[3] or None) for _ in range(size)]
            pools[key] = Pool(demand[key], found, fleet_sizes=fleets.get(key, {}))
    for provider, share in supplies.busy.items():
        _mark_busy_addresses({k: p for k, p in pools.items() if k[0] == provider}, share)
    return pools


def _sizes(
    keys: list[PoolKey],
    demand: Counter[PoolKey],
    largest: Counter[PoolKey],
    total: int,
    identified: float | None,
) -> Iterable[tuple[PoolKey, int]]:
    """Yield pool sizes that sum to ``total``, each at least its largest front end if possible."""
    least = {key: demand[key] if key[4] else largest[key] for key in keys}
    if sum(least.values()) > total:
        least = {key: demand[key] if key[4] else 1 for key in keys}
    if identified is None:
        return _apportion_pools(keys, demand, least, total)
    known, unknown = [k for k in keys if k[3]], [k for k in keys if not k[3]]
    shares = [Fraction(str(identified)), 1 - Fraction(str(identified))]
    parts = apportion_within(
        total,
        shares,
        [sum(least[k] for k in own) for own in (known, unknown)],
        [sum(demand[k] for k in own) for own in (known, unknown)],
    )
    both = (
        _apportion_pools(own, demand, least, part)
        for own, part in zip((known, unknown), parts, strict=True)
    )
    return [pair for own in both for pair in own]


def _apportion_pools(
    keys: Sequence[PoolKey], demand: Counter[PoolKey], least: Mapping[PoolKey, int], total: int
) -> list[tuple[PoolKey, int]]:
    wanted = [demand[key] for key in keys]
    parts = apportion_within(total, wanted, [least[key] for key in keys], wanted)
    return list(zip(keys, parts, strict=True))


def _mark_busy_addresses(pools: Mapping[PoolKey, Pool], share: float) -> None:
    """Mark some load-balancer addresses as shared by many names."""
    balanced = sum(len(p.addresses) for k, p in pools.items() if k[1] in BALANCED)
    able = [p for k, p in pools.items() if k[1] == "elb" and not k[4]]
    capacity = [
        max(0, (p.demand - len(p.addresses)) // (_BUSY_NAMES - 1)) for p in able
    ]  # every other address keeps a name
    sizes = [len(p.addresses) for p in able]
    for pool, wanted, most in zip(
        able, apportion(round(balanced * share), sizes), capacity, strict=True
    ):
        pool.busy = min(wanted, most)
