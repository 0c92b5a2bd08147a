"""Sets of regions are weighed once more, remainder by remainder, to check what survives a loss.

Of the checker alone: prices and limits of judgement go in, and the sets come out whose remainders
are all good enough, so that they may cost less than a proof says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Ints = NDArray[Any]

# Remainders that are kept at once, a byte each.
MOST_REMAINDERS = 2**28
# Points that are looked at together, so that their prices stay near the processor.
SLICE = 1024


@dataclass(eq=False)
class Test:
    """What a remainder has to stay below: prices by region and point, and any levels under them.

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
    """Give costs times weight, in half the memory where they fit."""
    most = int(costs.max(initial=0)) * int(weights.max(initial=0))
    product: Ints = (costs * weights).astype(np.int32 if most < 2**31 else np.int64)
    return product


@compile_loop
def outlook(prices: Ints, ceiling: Ints, shift: int, low: Ints, first: int) -> tuple[Any, Ints]:
    """Give what sets of a stem cost at least, and what each later region may save of it."""
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
    """Weigh a stem with each living pair of later regions."""
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
    """Give the number of a set of ascending places, one of them left out, or none (-1)."""
    total, size = np.int64(0), 0
    for a in range(members.size):
        if a != lost:
            size += 1
            total += table[members[a], size]
    return total


@compile_loop
def survives(good: NDArray[np.bool_], table: Ints, members: Ints) -> bool:
    """Say whether every remainder of a set is good."""
    fine = True
    for lost in range(members.size - 1, -1, -1):
        fine = fine and good[rank(table, members, lost)]
        if not fine:
            break
    return fine


@compile_loop
def survivors(
    good: NDArray[np.bool_], table: Ints, stem: Ints, places: int, alive: NDArray[np.bool_]
) -> Ints:
    """Give the sets of a stem, two regions short, whose remainders are all good."""
    members = np.empty(stem.size + 2, np.int64)
    members[: stem.size] = stem
    found = np.empty((16, members.size), np.int64)
    count = 0
    first = stem[-1] + 1
    for c in range(first, places - 1):
        members[stem.size] = c
        if not good[rank(table, members[:-1], -1)]:
            continue
        for x in range(c + 1, places):
            members[stem.size + 1] = x
            if alive[c, x] and survives(good, table, members):
                if count == found.shape[0]:
                    more = np.empty((2 * count, members.size), np.int64)
                    more[:count] = found
                    found = more
                found[count] = members
                count += 1
    return found[:count]


class Recount:
    """Remainders of sets of some size over some regions; the first few are in every set."""

    def __init__(self, tests: list[Test], size: int, fixed: int) -> None:
        self.tests, self.size, self.fixed = tests, size, fixed
        self.places = tests[0].prices.shape[0]
        self.table = _numbers(self.places, size)
        self.good = np.zeros(comb(self.places, size - 1), bool)

    def run(self) -> None:
        """Weigh all remainders but those that some bound excludes."""
        for stem in combinations(range(self.places), self.size - 3):
            lacking = sum(place not in stem for place in range(min(self.fixed, _after(stem))))
            if lacking <= 1:
                self._weigh(stem)

    def _weigh(self, stem: tuple[int, ...]) -> None:
        first = _after(stem)
        alive = np.triu(np.ones((self.places, self.places), bool), 1)
        alive[:first] = False
        for test in self.tests:
            low = _least(test, stem)
            alive &= _hopeful(test, low, first)
            if not alive.any():
                return
            alive &= sum_pairs(test.prices, low, alive, first) < test.below
        base = sum(int(self.table[place, a + 1]) for a, place in enumerate(stem))
        c, x = np.nonzero(alive)
        self.good[base + self.table[c, self.size - 2] + self.table[x, self.size - 1]] = True

    def sets(self, plain: Test | None) -> list[tuple[int, ...]]:
        """Give the sets whose remainders are all good, and that plain costs may not exclude."""
        found: list[tuple[int, ...]] = []
        everyone = np.ones((self.places, self.places), bool)
        for stem in self._stems(plain):
            alive = (
                everyone if plain is None else _hopeful(plain, _least(plain, stem), _after(stem))
            )
            members = np.array(stem, np.int64)
            for row in survivors(self.good, self.table, members, self.places, alive):
                found.append(tuple(int(place) for place in row))
        return found

    def _stems(self, plain: Test | None) -> Iterator[tuple[int, ...]]:
        """Give stems, two regions short, that have at least two good remainders."""
        head: tuple[int, ...] | None = None
        hopeful = True
        for stem in combinations(range(self.places), self.size - 2):
            if any(place not in stem for place in range(min(self.fixed, _after(stem)))):
                continue
            base = sum(int(self.table[place, a + 1]) for a, place in enumerate(stem))
            if self.good[base + self.table[stem[-1] + 1 : -1, self.size - 1]].sum() < 2:
                continue
            if plain is not None and stem[:-1] != head:
                head, hopeful = stem[:-1], _may_grow(plain, stem[:-1], 3)
            if hopeful:
                yield stem


def _after(stem: tuple[int, ...]) -> int:
    return stem[-1] + 1 if stem else 0


def _least(test: Test, stem: tuple[int, ...]) -> Ints:
    if not stem:
        return np.full(test.prices.shape[1], np.iinfo(test.prices.dtype).max, test.prices.dtype)
    least: Ints = test.prices[list(stem)].min(axis=0)
    return least


def _hopeful(test: Test, low: Ints, first: int) -> NDArray[np.bool_]:
    """Say of each pair of later regions whether its bound stays below what is asked."""
    # Nothing costs more than this where no region stands yet.
    top = test.prices.max(axis=0) if first == 0 else low
    sure, saved = outlook(test.prices, test.ceiling, test.shift, np.minimum(low, top), first)
    pairs: NDArray[np.bool_] = (
        sure - saved[:, None] - saved[None, :] <= (test.below - 1) << test.shift
    )
    return pairs


def _may_grow(test: Test, stem: tuple[int, ...], left: int) -> bool:
    """Say whether a stem with so many more regions may stay below what is asked."""
    top = test.prices.max(axis=0)
    low = np.minimum(_least(test, stem), top)
    sure, saved = outlook(test.prices, test.ceiling, test.shift, low, _after(stem))
    return bool(sure - np.sort(saved)[-left:].sum() <= (test.below - 1) << test.shift)


def _numbers(places: int, size: int) -> Ints:
    """Give the binomials that number sets of ascending places."""
    return np.array([[comb(n, a) for a in range(size + 1)] for n in range(places + 1)], np.int64)
