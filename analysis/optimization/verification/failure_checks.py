"""Recompute remainders (sets less one region), to find the sets that survive a loss.

Part of the verification only: the result are the sets with good remainders, which may contradict a
proof. No code is shared with the search.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.verification.deadlines import Deadline
from core.jit import compile_loop

Ints = NDArray[Any]

# Remainders held at once, one byte each.
MAX_REMAINDERS = 2**28
# Points per block, so that their prices stay in the cache.
SLICE = 1024


@dataclass(eq=False)
class Test:
    """A test of remainders: prices (n_regions, n_points), dual levels, and the cut-off ``below``.

    Prices are costs times weight; levels are costs in units of 1 / 2**shift.
    """

    prices: Ints
    weights: Ints
    levels: Ints
    shift: int
    below: int
    ceiling: Ints = made(init=False)

    def __post_init__(self) -> None:
        self.ceiling = self.weights.astype(np.int64) * self.levels


def priced(costs: Ints, weights: Ints) -> Ints:
    """Return costs times weights, int32 where they fit, else int64."""
    most = int(costs.max(initial=0)) * int(weights.max(initial=0))
    product: Ints = (costs * weights).astype(np.int32 if most < 2**31 else np.int64)
    return product


@compile_loop
def bound_completions(
    prices: Ints, ceiling: Ints, shift: int, low: Ints, first: int
) -> tuple[Any, Ints]:
    """Return (lower bound of a partial set, savings of each later region)."""
    sure = np.int64(0)
    saved = np.zeros(prices.shape[0], np.int64)
    own = np.empty(low.size, np.int64)
    for i in range(low.size):
        own[i] = min(ceiling[i], np.int64(low[i]) << shift)
        sure += own[i]
    for j in range(first, prices.shape[0]):
        total = np.int64(0)
        for i in range(low.size):
            total += max(own[i] - (np.int64(prices[j, i]) << shift), np.int64(0))
        saved[j] = total
    return sure, saved


@compile_loop
def sum_pairs(prices: Ints, low: Ints, alive: NDArray[np.bool_], first: int) -> Ints:
    """Return the cost of a partial set with each pair of later regions that is not excluded."""
    places = prices.shape[0]
    sums = np.zeros((places, places), np.int64)
    with_c = np.empty(SLICE, prices.dtype)
    for start in range(0, low.size, SLICE):
        stop = min(start + SLICE, low.size)
        for c in range(first, places - 1):
            own = prices[c, start:stop]
            for i in range(stop - start):
                with_c[i] = min(low[start + i], own[i])
            for x in range(c + 1, places):
                if alive[c, x]:
                    part = prices[x, start:stop]
                    total = np.int64(0)
                    for i in range(stop - start):
                        total += np.int64(min(with_c[i], part[i]))
                    sums[c, x] += total
    return sums


@compile_loop
def rank(table: Ints, members: Ints, lost: int) -> Any:
    """Return the rank of a set of ascending places without place ``lost``; -1 leaves out none."""
    total, size = np.int64(0), 0
    for a in range(members.size):
        if a != lost:
            size += 1
            total += table[members[a], size]
    return total


@compile_loop
def survives(good: NDArray[np.bool_], table: Ints, members: Ints) -> bool:
    """Return whether every remainder of a set is good."""
    fine = True
    for lost in range(members.size - 1, -1, -1):
        fine = fine and good[rank(table, members, lost)]
        if not fine:
            break
    return fine


@compile_loop
def survivors(
    good: NDArray[np.bool_], table: Ints, partial: Ints, places: int, alive: NDArray[np.bool_]
) -> Ints:
    """Return the completions of a partial set by two regions with only good remainders."""
    members = np.empty(partial.size + 2, np.int64)
    members[: partial.size] = partial
    found = np.empty((16, members.size), np.int64)
    count = 0
    first = partial[-1] + 1
    for c in range(first, places - 1):
        members[partial.size] = c
        if not good[rank(table, members[:-1], -1)]:
            continue
        for x in range(c + 1, places):
            members[partial.size + 1] = x
            if alive[c, x] and survives(good, table, members):
                if count == found.shape[0]:
                    more = np.empty((2 * count, members.size), np.int64)
                    more[:count] = found
                    found = more
                found[count] = members
                count += 1
    return found[:count]


class RemainderCheck:
    """The remainders of sets of one size; the first ``fixed`` regions are in every set."""

    def __init__(self, tests: list[Test], size: int, fixed: int, deadline: Deadline) -> None:
        self.tests, self.size, self.fixed, self.deadline = tests, size, fixed, deadline
        self.places = tests[0].prices.shape[0]
        self.table = _numbers(self.places, size)
        self.good = np.zeros(comb(self.places, size - 1), bool)

    def run(self) -> None:
        """Evaluate all remainders that no bound excludes."""
        for partial in combinations(range(self.places), self.size - 3):
            self.deadline.check()
            lacking = sum(place not in partial for place in range(min(self.fixed, _after(partial))))
            if lacking <= 1:
                self._weigh(partial)

    def _weigh(self, partial: tuple[int, ...]) -> None:
        first = _after(partial)
        alive = np.triu(np.ones((self.places, self.places), bool), 1)
        alive[:first] = False
        for test in self.tests:
            low = _least(test, partial)
            alive &= _is_promising(test, low, first)
            if not alive.any():
                return
            alive &= sum_pairs(test.prices, low, alive, first) < test.below
        base = sum(int(self.table[place, a + 1]) for a, place in enumerate(partial))
        c, x = np.nonzero(alive)
        self.good[base + self.table[c, self.size - 2] + self.table[x, self.size - 1]] = True

    def sets(self, plain: Test | None) -> list[tuple[int, ...]]:
        """Return the sets with only good remainders, and not excluded by the cost without
        loss."""
        found: list[tuple[int, ...]] = []
        everyone = np.ones((self.places, self.places), bool)
        for partial in self._partial_sets(plain):
            self.deadline.check()
            alive = (
                everyone
                if plain is None
                else _is_promising(plain, _least(plain, partial), _after(partial))
            )
            members = np.array(partial, np.int64)
            for row in survivors(self.good, self.table, members, self.places, alive):
                found.append(tuple(int(place) for place in row))
        return found

    def _partial_sets(self, plain: Test | None) -> Iterator[tuple[int, ...]]:
        """Yield partial sets, two regions short, with at least two good remainders."""
        prefix: tuple[int, ...] | None = None
        promising_set = True
        for partial in combinations(range(self.places), self.size - 2):
            if any(place not in partial for place in range(min(self.fixed, _after(partial)))):
                continue
            base = sum(int(self.table[place, a + 1]) for a, place in enumerate(partial))
            if self.good[base + self.table[partial[-1] + 1 : -1, self.size - 1]].sum() < 2:
                continue
            if plain is not None and partial[:-1] != prefix:
                prefix, promising_set = partial[:-1], _may_complete(plain, partial[:-1], 3)
            if promising_set:
                yield partial


def _after(partial: tuple[int, ...]) -> int:
    return partial[-1] + 1 if partial else 0


def _least(test: Test, partial: tuple[int, ...]) -> Ints:
    if not partial:
        return np.full(test.prices.shape[1], np.iinfo(test.prices.dtype).max, test.prices.dtype)
    least: Ints = test.prices[list(partial)].min(axis=0)
    return least


def _is_promising(test: Test, low: Ints, first: int) -> NDArray[np.bool_]:
    """Return a mask of pairs of later regions with a bound below the cut-off."""
    # The maximum cost without any region.
    top = test.prices.max(axis=0) if first == 0 else low
    sure, saved = bound_completions(
        test.prices, test.ceiling, test.shift, np.minimum(low, top), first
    )
    pairs: NDArray[np.bool_] = (
        sure - saved[:, None] - saved[None, :] <= (test.below - 1) << test.shift
    )
    return pairs


def _may_complete(test: Test, partial: tuple[int, ...], left: int) -> bool:
    """Return whether a completion by ``left`` regions may be below the cut-off."""
    top = test.prices.max(axis=0)
    low = np.minimum(_least(test, partial), top)
    sure, saved = bound_completions(test.prices, test.ceiling, test.shift, low, _after(partial))
    return bool(sure - np.sort(saved)[-left:].sum() <= (test.below - 1) << test.shift)


def _numbers(places: int, size: int) -> Ints:
    """Return binomial coefficients, (places + 1, size + 1) int64."""
    return np.array([[comb(n, a) for a in range(size + 1)] for n in range(places + 1)], np.int64)
