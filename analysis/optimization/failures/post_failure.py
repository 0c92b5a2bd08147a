"""Costs go in; the best sets come out of which every remainder, one region less, is good enough.

Good enough is to cost less than the best set's worst loss, or to leave few enough far away. All
remainders are weighed once, those of hopeless stems excepted, so that sets need only be looked up.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from analysis.optimization.failures.failure_kernels import (
    BAD,
    Marks,
    Stem,
    binomials,
    hope_of,
    list_pairs,
    mark_pairs,
    unite,
    weigh_pairs,
    whole_steps,
)
from analysis.optimization.solver.cost_kernels import Ints, Matrix, gains
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Field, Rules, as_ints

# Remainders that are kept at once, two bytes each.
MOST_MARKS = 2**27
# Sets of fewer regions have no stem.
LEAST_SIZE = 3
# Places after which the clock is looked at, where one stem is all.
SPAN = 8


@dataclass(eq=False)
class Measured:
    """What a remainder is judged by: costs, levels that bound them, and what they stay below."""

    field: Field
    levels: Ints
    cutoff: int
    # Whether marks tell the cost, or only that it is good.
    told: bool
    priced: Matrix = made(init=False)

    def __post_init__(self) -> None:
        self.priced = whole_steps(self.field.values, self.field.weights)

    @property
    def cut(self) -> int:
        """The bound, in fine units, above which a stem holds nothing good."""
        return (self.cutoff - 1) << self.field.shift


def best_first(measure: Measured, rows: Ints) -> list[int]:
    """Give regions by what each may save, the most first, so that later stems hold little."""
    field = measure.field
    saved = gains(field.values, field.weights, measure.levels, rows, field.shift)
    return [int(rows[a]) for a in np.argsort(-saved, kind="stable")]


def fits_memory(places: int, size: int) -> bool:
    """Say whether all remainders of sets of this size can be marked."""
    return size >= LEAST_SIZE and comb(places, size - 1) <= MOST_MARKS


@dataclass(eq=False)
class Survival:
    """All remainders of sets of a size, and then the sets; ``order`` holds the regions in play.

    The first ``fixed`` of them are in every set.
    """

    order: Ints
    fixed: int
    size: int
    rules: Rules
    measures: tuple[Measured, ...]
    until: float
    marks: Marks = made(init=False)
    table: Ints = made(init=False)
    weighed: int = 0

    def __post_init__(self) -> None:
        places = self.order.size
        self.marks = np.full(comb(places, self.size - 1), BAD, np.uint16)
        self.table = binomials(places, self.size)

    def mark(self) -> bool:
        """Weigh and mark all remainders; False if time is up before that."""
        return self._grow((), [self._start(m) for m in self.measures])

    def unite(self, problem: Problem, levels: Ints | None = None) -> bool:
        """Put the best sets on the podium; False if time is up. Levels mean the plain cost."""
        tables = self.marks, self.table, self.order
        plain = levels is not None
        aim = (levels, 0) if levels is not None else (as_ints([]), self.measures[0].cutoff)
        for head in self._heads():
            if plain and not self._hopeful(problem, head, aim[0]):
                continue
            for first, last in self._spans(head):
                if time.monotonic() > self.until:
                    return False
                span = as_ints(head), first, last
                unite(problem.field, self.rules, tables, span, problem.podium, aim)
        return True

    def _spans(self, head: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """Give the places that follow a head, few at a time where heads are few."""
        first = head[-1] + 1 if head else 0
        last = self.fixed if len(head) < self.fixed else self.order.size
        step = SPAN if self.size == LEAST_SIZE else max(last - first, 1)
        yield from ((place, min(place + step, last)) for place in range(first, last, step))

    def _heads(self) -> Iterator[tuple[int, ...]]:
        """Give the first places of sets, but for the last three."""
        length = self.size - 3
        held = tuple(range(min(self.fixed, length)))
        others = range(len(held), self.order.size)
        yield from ((*held, *rest) for rest in combinations(others, length - len(held)))

    def _hopeful(self, problem: Problem, head: tuple[int, ...], levels: Ints) -> bool:
        least = np.full(problem.points, problem.worst, np.int64)
        for place in head:
            np.minimum(least, problem.field.values[self.order[place]], out=least)
        rest = self.order[head[-1] + 1 :] if head else self.order
        fine, _ = hope_of(problem.field, levels, rest, least, 3, problem.worth)
        return bool(fine)

    def _start(self, measure: Measured) -> tuple[Any, Any]:
        points, priced = measure.field.weights.size, measure.priced
        worst = int(measure.field.values.max())
        return np.full(points, worst, np.int64), np.full(points, np.iinfo(priced.dtype).max)

    def _grow(self, places: tuple[int, ...], lows: list[tuple[Any, Any]]) -> bool:
        """Mark the remainders that begin with these places."""
        if time.monotonic() > self.until:
            return False
        first, left = (places[-1] + 1 if places else 0), self.size - 1 - len(places)
        hopes = []
        for measure, (least, _) in zip(self.measures, lows, strict=True):
            rest = self.order[first:]
            fine, hope = hope_of(measure.field, measure.levels, rest, least, left, measure.cut)
            if not fine:
                return True
            hopes.append(hope)
        if left == 2:
            self._mark(places, lows, hopes)
            return True
        return self._branch(places, lows)

    def _branch(self, places: tuple[int, ...], lows: list[tuple[Any, Any]]) -> bool:
        first, left = (places[-1] + 1 if places else 0), self.size - 1 - len(places)
        held = sum(place < self.fixed for place in places)
        for place in range(first, self.order.size - left + 1):
            # A remainder lacks one of the regions that every set has, at most.
            if min(place, self.fixed) - held > 1:
                break
            j = self.order[place]
            lower = [
                (np.minimum(least, m.field.values[j]), np.minimum(low, m.priced[j]))
                for m, (least, low) in zip(self.measures, lows, strict=True)
            ]
            if not self._grow((*places, place), lower):
                return False
        return True

    def _mark(self, places: tuple[int, ...], lows: list[tuple[Any, Any]], hopes: list[Any]) -> None:
        stem = Stem(as_ints(places), self.fixed)
        pairs = list_pairs(stem, self.order, self.rules, hopes[0])
        told = np.zeros(pairs.shape[0], np.int64), 0
        for measure, (_, low) in zip(self.measures, lows, strict=True):
            sums = weigh_pairs(measure.priced, self.order, low, pairs)
            self.weighed += pairs.shape[0]
            good = sums < measure.cutoff
            pairs, told = pairs[good], (told[0][good], told[1])
            if measure.told:
                told = sums[good], measure.cutoff
        mark_pairs(self.marks, self.table, stem.places, (pairs, told[0]), told[1])
