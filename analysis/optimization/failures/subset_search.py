"""Search for the best sets after their worst loss by lower bounds of all remainders.

What two regions save together is at most the sum of what each saves alone, so that

    cost(T) >= cost(T - c) + cost(T - x) - cost(T - c - x)

for any two regions of a remainder T. The best of these bounds over all pairs is rarely a thousandth
below the cost. So only the subsets with one region less are weighed, and remainders are bounded by
look-up; what is left is weighed exactly.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made
from itertools import combinations
from math import comb

import numpy as np

from analysis.optimization.failures.failure_kernels import BAD, Marks, binomials
from analysis.optimization.failures.robust_search import RobustProblem
from analysis.optimization.failures.subset_kernels import (
    Costs,
    evaluate_marked,
    mark_bounds,
    weigh_subsets,
    whole_prices,
)
from analysis.optimization.solver.cost_kernels import Ints
from analysis.optimization.solver.search_kernels import Rules, as_ints

# The remainders of smaller sets are few enough to be weighed, and their bounds are loose.
MIN_SIZE = 5
# Sums of two costs fit into 32 bits.
COST_BITS = 30


@dataclass(eq=False)
class SubsetSearch:
    """The search over the regions ``order`` (n_places,) int64; ``rules`` bind complete sets."""

    whole: RobustProblem
    order: Ints
    rules: Rules
    until: float
    marks: Marks = made(init=False)
    table: Ints = made(init=False)

    def __post_init__(self) -> None:
        self.table = binomials(self.order.size, self.whole.size)

    def run(self) -> bool:
        """Record the best sets; return False out of time."""
        if self.whole.incumbents.costs[-1] <= 0:
            # Nothing costs less than nothing.
            return True
        field, size = self.whole.field, self.whole.size
        prices, shift = whole_prices(field.values, field.weights, self.order, COST_BITS)
        lesser, less = (self._weigh(prices, count) for count in (size - 3, size - 2))
        if less is None or lesser is None:
            return False
        cutoff = -(-int(self.whole.incumbents.costs[-1]) >> shift)
        self.marks = np.full(comb(self.order.size, size - 1), BAD, np.uint16)
        for last in self._last_places(size - 1):
            mark_bounds(self.marks, self.table, (less, lesser), (size - 1, last), cutoff)
        tables = self.marks, self.table, self.order
        for last in self._last_places(size):
            evaluate_marked(field, self.rules, tables, last, self.whole.incumbents, cutoff << shift)
        return time.monotonic() < self.until

    def _last_places(self, size: int) -> Iterator[int]:
        """Yield the highest places of subsets of a size while there is time."""
        for last in range(size - 1, self.order.size):
            if time.monotonic() > self.until:
                return
            yield last

    def _weigh(self, prices: Costs, size: int) -> Costs | None:
        """Return the costs of all subsets of a size by rank; None out of time."""
        costs = np.empty(comb(self.order.size, size), np.int32)
        if size == 1:
            costs[:] = prices.sum(axis=1)
            return costs
        for partial in combinations(range(self.order.size), size - 2):
            if time.monotonic() > self.until:
                return None
            weigh_subsets(prices, self.table, as_ints(partial), costs)
        return costs
