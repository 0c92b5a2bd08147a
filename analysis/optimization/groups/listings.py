"""All sets of a box that are below the caps, listed one by one, or by their remainders."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from analysis.optimization.groups.group_costs import GroupCosts
from analysis.optimization.groups.group_kernels import Listing, Points, list_sets
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Ints
from analysis.optimization.solver.search_kernels import as_ints

Members = tuple[int, ...]

# Partial sets that are read between looks at the clock, and sets that are returned at once.
BUDGET = 2**20
MAX_FOUND = 4096
# Remainders that are kept at most.
MAX_REMAINDERS = 3_000_000


@dataclass(frozen=True, eq=False)
class Lister:
    """Lists sets of a size below ``caps`` (n_groups,), which may be lowered meanwhile."""

    costs: GroupCosts
    points: Points
    limits: Limits
    size: int
    caps: Ints

    def count(self, inside: Members, rows: Ints) -> int:
        """Return how many sets, or remainders of sets, there are to look at."""
        left = self.size - len(inside)
        if self._by_remainders(left):
            return comb(rows.size + len(inside), self.size - 1)
        return comb(rows.size, left)

    def run(
        self, inside: Members, rows: Ints, until: float, offer: Callable[[Members], None]
    ) -> bool:
        """Offer all sets of a box that are below the caps; return False out of time."""
        if self._by_remainders(self.size - len(inside)):
            every = as_ints([*inside, *rows])
            good = self._remainders(every, until)
            if good is None:
                return False
            for members in extend(good):
                if set(inside) <= set(members):
                    offer(members)
            return True
        listing = self._listing(self.points, inside, rows, self.size, 1)
        while listing.depth[0] >= 0:
            count = list_sets(self.points, listing, self.caps, BUDGET)
            for members in listing.found[:count].tolist():
                offer(tuple(members))
            if time.monotonic() > until:
                return False
        return True

    def _by_remainders(self, left: int) -> bool:
        """Of many sets, each is below the caps after a loss if all of its remainders are."""
        return self.costs.is_robust and left >= 3

    def _remainders(self, rows: Ints, until: float) -> set[Members] | None:
        """Return all sets of one region less that are below the caps; None if not in time."""
        plain = self.points._replace(is_robust=False)
        listing = self._listing(plain, (), rows, self.size - 1, MAX_FOUND)
        good: set[Members] = set()
        while listing.depth[0] >= 0:
            count = list_sets(plain, listing, self.caps, BUDGET)
            good.update(map(tuple, np.sort(listing.found[:count], axis=1).tolist()))
            if time.monotonic() > until or len(good) > MAX_REMAINDERS:
                return None
        return good

    def _listing(
        self, points: Points, inside: Members, rows: Ints, size: int, places: int
    ) -> Listing:
        values, limits, left = points.values, self.limits, size - len(inside)
        weights = self.costs.weights / self.costs.totals[self.costs.owners]
        order = rows[np.argsort(values[rows] @ weights, kind="stable")]
        floor = np.minimum.accumulate(values[order][::-1], axis=0)[::-1]
        least = np.empty((left, self.costs.points), np.int32)
        least[0] = values[list(inside)].min(axis=0) if inside else values.max(axis=0)
        members = np.zeros(size, np.int64)
        members[: len(inside)] = inside
        return Listing(
            *(order, np.zeros(left, np.int64), least, np.ascontiguousarray(floor), members),
            np.zeros(1, np.int64),
            np.zeros((places, size), np.int64),
            as_ints(limits.price),
            as_ints(limits.provider),
            as_ints(limits.capacity),
            limits.budget,
        )


def extend(good: set[Members]) -> Iterator[Members]:
    """Yield the sets of which every remainder with one region less is in ``good``."""
    last: dict[Members, list[int]] = {}
    for remainder in good:
        last.setdefault(remainder[:-1], []).append(remainder[-1])
    for remainder in good:
        for j in last.get(remainder[1:], ()):
            members = (*remainder, j)
            if all(rest in good for rest in combinations(members, len(members) - 1)):
                yield members
