"""Search for the best sets of which every remainder (one region less) is good.

A remainder is good if it costs less than the incumbent's worst loss, or satisfies a latency limit.
All remainders are evaluated once, except where a lower bound excludes them; sets are looked up.
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
    PartialSet,
    binomials,
    bound_partial_set,
    evaluate_completions,
    list_pairs,
    mark_pairs,
    weigh_pairs,
    whole_steps,
)
from analysis.optimization.solver.cost_kernels import Ints, Matrix, gains
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Field, Rules, as_ints

# Remainders held at once, two bytes each.
MAX_MARKS = 2**27
# Smaller sets have no partial set.
MIN_SIZE = 3
# Places between checks of the time limit.
SPAN = 8


@dataclass(eq=False)
class RemainderTest:
    """A test of remainders: costs, dual levels that bound them, and the cut-off."""

    field: Field
    levels: Ints
    cutoff: int
    # Whether marks store the cost, or only that the remainder is good.
    stores_cost: bool
    priced: Matrix = made(init=False)

    def __post_init__(self) -> None:
        self.priced = whole_steps(self.field.values, self.field.weights)

    @property
    def cut(self) -> int:
        """The bound, in units of 1 / 2**shift, above which no completion is good."""
        return (self.cutoff - 1) << self.field.shift


def best_first(field: Field, levels: Ints, rows: Ints) -> list[int]:
    """Return regions by descending savings, so that later partial sets are excluded early."""
    saved = gains(field.values, field.weights, levels, rows, field.shift)
    return [int(rows[a]) for a in np.argsort(-saved, kind="stable")]


def fits_memory(places: int, size: int) -> bool:
    """Return whether all remainders of sets of this size can be marked."""
    return size >= MIN_SIZE and comb(places, size - 1) <= MAX_MARKS


@dataclass(eq=False)
class RemainderSearch:
    """Search over all remainders of a size, then over the sets.

    ``order`` (n_places,) int64 are the regions not excluded; the first ``fixed`` are in every set.
    """

    order: Ints
    fixed: int
    size: int
    rules: Rules
    measures: tuple[RemainderTest, ...]
    until: float
    marks: Marks = made(init=False)
    table: Ints = made(init=False)
    weighed: int = 0

    def __post_init__(self) -> None:
        places = self.order.size
        self.marks = np.full(comb(places, self.size - 1), BAD, np.uint16)
        self.table = binomials(places, self.size)

    def mark(self) -> bool:
        """Evaluate and mark all remainders; return False out of time."""
        return self._extend((), [self._start(m) for m in self.measures])

    def evaluate(self, problem: Problem, levels: Ints | None = None) -> bool:
        """Record the best sets; return False out of time. With ``levels``, by cost without a
        loss."""
        tables = self.marks, self.table, self.order
        plain = levels is not None
        aim = (levels, 0) if levels is not None else (as_ints([]), self.measures[0].cutoff)
        for prefix in self._prefixes():
            if plain and not self._is_promising(problem, prefix, aim[0]):
                continue
            for first, last in self._spans(prefix):
                if time.monotonic() > self.until:
                    return False
                span = as_ints(prefix), first, last
                evaluate_completions(
                    problem.field, self.rules, tables, span, problem.incumbents, aim
                )
        return True

    def _spans(self, prefix: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """Yield ranges of places that follow a prefix, small ones where there are few prefixes."""
        first = prefix[-1] + 1 if prefix else 0
        last = self.fixed if len(prefix) < self.fixed else self.order.size
        step = SPAN if self.size == MIN_SIZE else max(last - first, 1)
        yield from ((place, min(place + step, last)) for place in range(first, last, step))

    def _prefixes(self) -> Iterator[tuple[int, ...]]:
        """Yield the first places of sets, without the last three."""
        length = self.size - 3
        held = tuple(range(min(self.fixed, length)))
        others = range(len(held), self.order.size)
        yield from ((*held, *rest) for rest in combinations(others, length - len(held)))

    def _is_promising(self, problem: Problem, prefix: tuple[int, ...], levels: Ints) -> bool:
        least = np.full(problem.points, problem.worst, np.int64)
        for place in prefix:
            np.minimum(least, problem.field.values[self.order[place]], out=least)
        rest = self.order[prefix[-1] + 1 :] if prefix else self.order
        fine, _ = bound_partial_set(problem.field, levels, rest, least, 3, problem.worth)
        return bool(fine)

    def _start(self, measure: RemainderTest) -> tuple[Any, Any]:
        points, priced = measure.field.weights.size, measure.priced
        worst = int(measure.field.values.max())
        return np.full(points, worst, np.int64), np.full(points, np.iinfo(priced.dtype).max)

    def _extend(self, places: tuple[int, ...], lows: list[tuple[Any, Any]]) -> bool:
        """Mark the remainders that begin with these places; return False out of time."""
        if time.monotonic() > self.until:
            return False
        first, left = (places[-1] + 1 if places else 0), self.size - 1 - len(places)
        bounds = []
        for measure, (least, _) in zip(self.measures, lows, strict=True):
            rest = self.order[first:]
            fine, bound = bound_partial_set(
                measure.field, measure.levels, rest, least, left, measure.cut
            )
            if not fine:
                return True
            bounds.append(bound)
        if left == 2:
            self._mark(places, lows, bounds)
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
            if not self._extend((*places, place), lower):
                return False
        return True

    def _mark(
        self, places: tuple[int, ...], lows: list[tuple[Any, Any]], bounds: list[Any]
    ) -> None:
        partial = PartialSet(as_ints(places), self.fixed)
        pairs = list_pairs(partial, self.order, self.rules, bounds[0])
        found = np.zeros(pairs.shape[0], np.int64), 0
        for measure, (_, low) in zip(self.measures, lows, strict=True):
            sums = weigh_pairs(measure.priced, self.order, low, pairs)
            self.weighed += pairs.shape[0]
            good = sums < measure.cutoff
            pairs, found = pairs[good], (found[0][good], found[1])
            if measure.stores_cost:
                found = sums[good], measure.cutoff
        mark_pairs(self.marks, self.table, partial.places, (pairs, found[0]), found[1])
