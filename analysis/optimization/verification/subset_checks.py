"""Recompute which sets may survive a loss, from the costs of all smaller subsets.

Part of the verification only; no code is shared with the search. The savings of regions are
submodular: for a remainder T and any two of its regions c and x,
cost(T) >= cost(T - c) + cost(T - x) - cost(T - c - x). Costs here are exact, in int64.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.verification.deadlines import Deadline
from analysis.optimization.verification.failure_checks import Ints, Test, rank, sum_pairs
from core.jit import compile_loop

Flags = NDArray[np.bool_]

# Remainders of smaller sets are few, and bounded by single regions alone.
MIN_SIZE = 5


@compile_loop
def rank_above(table: Ints, upper: Ints, one: int, other: int) -> int:
    """Return the rank of place 0 with the places of ``upper``, less those at two positions."""
    total, position = 0, 1
    for a in range(upper.size):
        if a != one and a != other:
            position += 1
            total += int(table[upper[a], position])
    return total


@compile_loop
def follow(upper: Ints) -> bool:
    """Step to the next ascending places of which the highest stays; the lowest is 1 or more."""
    a = 0
    while a < upper.size - 1 and upper[a] + 1 == upper[a + 1]:
        upper[a] = a + 1
        a += 1
    if a == upper.size - 1:
        return False
    upper[a] += 1
    return True


@compile_loop
def exclude_above(fine: Flags, costs: Ints, below: int) -> None:
    """Clear the flags of costs that are not below a cut-off."""
    for a in range(fine.size):
        fine[a] &= costs[a] < below


@compile_loop
def exclude_pairs_above(fine: Flags, one: Ints, other: Ints, both: Ints, below: int) -> None:
    """Clear the flags where one + other - both is not below a cut-off."""
    for a in range(fine.size):
        fine[a] &= one[a] + other[a] - both[a] < below


@compile_loop
def flag_remainders(
    good: Flags, table: Ints, tables: tuple[Ints, Ints], upper: Ints, below: int
) -> None:
    """Flag the remainders with this highest place that no bound excludes.

    ``tables`` are the costs of subsets with one region less and with two less, by rank.
    """
    one_less, two_less = tables
    more = True
    while more:
        # Remainders that differ by their least place alone are neighbours in every table.
        first, count = rank_above(table, upper, -1, -1), upper[0]
        fine = good[first : first + count]
        fine[:] = True
        whole = one_less[rank(table, upper, -1)]
        for i in range(upper.size):
            start = rank_above(table, upper, i, -1)
            own = one_less[start : start + count]
            exclude_above(fine, own, below - whole + two_less[rank(table, upper, i)])
            for j in range(i):
                start, both = rank_above(table, upper, j, -1), rank_above(table, upper, i, j)
                other = one_less[start : start + count]
                exclude_pairs_above(fine, own, other, two_less[both : both + count], below)
        more = follow(upper)


@compile_loop
def has_fixed(upper: Ints, fixed: int) -> bool:
    """Return whether the places 1 to ``fixed`` - 1 are all there."""
    fine = True
    for a in range(fixed - 1):
        fine = fine and upper[a] == a + 1
    return fine


@compile_loop
def cost_after_loss(prices: Ints, members: Ints, lost: int) -> int:
    """Return the exact cost of a set without the member at position ``lost``."""
    total = 0
    for i in range(prices.shape[1]):
        low = np.iinfo(np.int64).max
        for a in range(members.size):
            if a != lost:
                low = min(low, int(prices[members[a], i]))
        total += low
    return total


@compile_loop
def is_below(prices: Ints, members: Ints, below: int) -> bool:
    """Return whether a set costs less than the cut-off, whichever member is lost."""
    fine, lost = True, 0
    while fine and lost < members.size:
        fine = cost_after_loss(prices, members, lost) < below
        lost += 1
    return fine


@compile_loop
def all_flagged(good: Flags, table: Ints, upper: Ints, least: int) -> bool:
    """Return whether the remainders that hold the least place are flagged."""
    fine, i = True, upper.size - 1
    while fine and i >= 0:
        fine = good[least + rank_above(table, upper, i, -1)]
        i -= 1
    return fine


@compile_loop
def list_survivors(
    prices: Ints, good: Flags, table: Ints, upper: Ints, aim: tuple[int, int]
) -> Ints:
    """Return the sets with this highest place that cost less than a cut-off after any loss.

    ``aim`` is (number of first places that every set holds, cut-off).
    """
    fixed, below = aim
    found = np.empty((64, upper.size + 1), np.int64)
    members = np.empty(upper.size + 1, np.int64)
    count, more = 0, True
    while more:
        if good[rank(table, upper, -1)] and has_fixed(upper, fixed):
            members[1:] = upper
            for least in range(upper[0] if fixed == 0 else 1):
                members[0] = least
                if all_flagged(good, table, upper, least) and is_below(prices, members, below):
                    if count == found.shape[0]:
                        wider = np.empty((2 * count, found.shape[1]), np.int64)
                        wider[:count] = found
                        found = wider
                    found[count] = members
                    count += 1
        more = follow(upper)
    return found[:count]


class SubsetCheck:
    """The remainders of sets of one size; the first ``fixed`` regions are in every set."""

    def __init__(self, test: Test, size: int, fixed: int, deadline: Deadline) -> None:
        self.test, self.size, self.fixed, self.deadline = test, size, fixed, deadline
        self.places = test.prices.shape[0]
        numbers = [[comb(n, a) for a in range(size + 1)] for n in range(self.places + 1)]
        self.table = np.array(numbers, np.int64)

    def sets(self) -> Iterator[tuple[int, ...]]:
        """Yield every set that costs less than the cut-off after its worst loss."""
        tables = self._costs(self.size - 2), self._costs(self.size - 3)
        good = np.zeros(comb(self.places, self.size - 1), bool)
        for highest in range(self.size - 2, self.places):
            self.deadline.check()
            upper = self._first(self.size - 2, highest)
            flag_remainders(good, self.table, tables, upper, self.test.below)
        prices, aim = self.test.prices, (self.fixed, self.test.below)
        for highest in range(self.size - 1, self.places):
            self.deadline.check()
            upper = self._first(self.size - 1, highest)
            for row in list_survivors(prices, good, self.table, upper, aim):
                yield tuple(int(place) for place in row)

    def _first(self, count: int, highest: int) -> Ints:
        """Return the first ascending places, none below 1, that end with the highest."""
        return np.array([*range(1, count), highest], np.int64)

    def _costs(self, size: int) -> Ints:
        """Return the exact costs of all subsets of a size by rank."""
        prices = self.test.prices
        if size == 1:
            alone: Ints = prices.sum(axis=1, dtype=np.int64)
            return alone
        costs = np.empty(comb(self.places, size), np.int64)
        for partial in combinations(range(self.places), size - 2):
            self.deadline.check()
            first = partial[-1] + 1 if partial else 0
            pairs = np.triu(np.ones((self.places, self.places), bool), 1)
            pairs[:first] = False
            low = prices[list(partial)].min(axis=0) if partial else prices.max(axis=0)
            base = sum(comb(place, a + 1) for a, place in enumerate(partial))
            c, x = np.nonzero(pairs)
            ranks = base + self.table[c, size - 1] + self.table[x, size]
            costs[ranks] = sum_pairs(prices, low, pairs, first)[c, x]
        return costs
