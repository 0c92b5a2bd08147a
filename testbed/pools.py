"""Pools of addresses that names share, sized so that each kind has its published number.

Names take consecutive addresses while a window slides over the pool: neighbours share, every
address is used, and the distinct addresses of a kind are exactly those of its pools.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from testbed.apportion import apportion_within
from testbed.drafts import Draft, PoolKey
from testbed.supply import AddressBook


@dataclass(slots=True)
class Pool:
    """Addresses of one label in one zone; ``demand`` is how many will be asked for in all."""

    demand: int
    addresses: list[str] = field(default_factory=list)
    taken: int = 0

    def take(self, count: int) -> list[int]:
        """Positions of the next ``count`` distinct addresses (all, if there are fewer)."""
        size = len(self.addresses)
        start = self.taken * size // self.demand
        self.taken += count
        return [(start + i) % size for i in range(min(count, size))]


def open_pools(
    drafts: Iterable[Draft], instances: Mapping[tuple[str, str], int], book: AddressBook
) -> dict[PoolKey, Pool]:
    """Pools for all spots of ``drafts``; ``instances`` counts addresses by provider and label.

    Fronts with an owner get addresses of their own; the rest of the number is shared.
    """
    demand: Counter[PoolKey] = Counter()
    largest: Counter[PoolKey] = Counter()
    for draft in drafts:
        for key, count in draft.spots:
            demand[key] += count
            largest[key] = max(largest[key], count)
    groups: dict[tuple[str, str], list[PoolKey]] = defaultdict(list)
    for key in demand:
        groups[key[0], key[1].partition("/")[0]].append(key)
    pools: dict[PoolKey, Pool] = {}
    for group, keys in groups.items():
        total = instances.get(group, sum(demand[key] for key in keys))
        for key, size in zip(keys, _sizes(keys, demand, largest, total), strict=True):
            found = [book.compute(key[0], key[2], key[3] or None) for _ in range(size)]
            pools[key] = Pool(demand[key], found)
    return pools


def _sizes(
    keys: list[PoolKey], demand: Counter[PoolKey], largest: Counter[PoolKey], total: int
) -> list[int]:
    """Sizes that sum to ``total``, each large enough for the largest front if that is possible."""
    wanted = [demand[key] for key in keys]
    least = [demand[key] if key[4] else largest[key] for key in keys]
    if sum(least) > total:
        least = [demand[key] if key[4] else 1 for key in keys]
    return apportion_within(total, wanted, least, wanted)
