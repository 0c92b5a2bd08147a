"""Check the boxes of a certificate: they cover every set, and each bound holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import NO_ANSWER, Costs, Ints
from analysis.optimization.solver.certificate import Box, Multipliers, Proof
from analysis.optimization.verification.coverage import check_cover
from analysis.optimization.verification.deadlines import Deadline
from analysis.optimization.verification.failure_checks import (
    MAX_REMAINDERS,
    RemainderCheck,
    Test,
    priced,
)
from analysis.optimization.verification.set_listing import PricedSets, create_walk, sets_below
from analysis.optimization.verification.subset_checks import MIN_SIZE, SubsetCheck
from core.errors import BadInput
from core.jit import compile_loop

# Bounds that are cached, because neighbouring boxes share them.
MAX_KNOWN = 1000
PAIR = 2


@dataclass(frozen=True, eq=False)
class Far:
    """Mask (n_regions, n_points) of points above the limit, and the weight allowed after a loss."""

    cells: NDArray[np.bool_]
    most: int

    def wide(self, weights: Ints) -> frozenset[int]:
        """Return the regions that violate the limit alone."""
        return frozenset(
            j for j, row in enumerate(self.cells) if int(weights[row].sum()) > self.most
        )


@compile_loop
def savings(prices: Ints, weights: Ints, levels: Ints, shift: int) -> Ints:
    """Return savings per region, (n_regions,) int64: sum of w * max(0, level - price).

    Own loop of the verification, so that no code is shared with the search.
    """
    regions, points = prices.shape
    saved = np.zeros(regions, np.int64)
    for j in range(regions):
        total = np.int64(0)
        for i in range(points):
            beneath = levels[i] - (np.int64(prices[j, i]) << shift)
            total += weights[i] * max(beneath, np.int64(0))
        saved[j] = total
    return saved


@dataclass(frozen=True, eq=False)
class Bounds:
    """What sets that hold a base cost at least, and what each region may save of it, (n_regions,);
    savings that are not ``known`` have not been computed."""

    sure: int
    saved: Ints
    known: NDArray[np.bool_]


class BoxChecker:
    """Checks the boxes of one proof."""

    def __init__(
        self,
        costs: Costs,
        limits: Limits,
        proof: Proof,
        share: Fraction | None,
        far: Far | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.costs, self.limits, self.proof, self.share = costs, limits, proof, share
        self.far, self.deadline = far, deadline or Deadline()
        self.regions = costs.matrix.shape[0]
        self.matrix = self._prices()
        self.priced = self._prices_of_gaps()
        self.known: dict[tuple[frozenset[int], int, int | None], Bounds] = {}
        # In fine units: above this, a box holds no set below the floor.
        self.cut = (proof.floor - 1) << proof.shift
        self.listed = set(proof.listed)
        self.provider = np.array(limits.provider, np.int64)
        self.capacity = np.array(limits.capacity, np.int64)

    def run(self) -> list[str]:
        """Return the errors of the boxes; raise UnfinishedCheck at the deadline."""
        proof, deadline = self.proof, self.deadline
        wrong = check_cover(proof.boxes, self.limits, proof.size, self.regions, deadline)
        return wrong or [text for box in self.proof.boxes if (text := self._examine(box))]

    def exact(self, members: tuple[int, ...]) -> Fraction:
        """Return a set's objective in units of cost, after its worst loss where one is to come."""
        if self.proof.robust:
            rests = combinations(members, len(members) - 1)
            return max(self._exact_without_loss(rest) for rest in rests)
        return self._exact_without_loss(members)

    def _exact_without_loss(self, members: tuple[int, ...]) -> Fraction:
        least, weights = self._least(members), self.costs.weights
        if self.costs.penalty is None:
            least, weights = least[least != NO_ANSWER], weights[least != NO_ANSWER]
        if self.share is None:
            return Fraction(int((least * weights).sum()), int(weights.sum()))
        values = np.unique(least)
        reach = [int(weights[least <= v].sum()) for v in values]
        enough = self.share * int(weights.sum())
        return Fraction(int(next(v for v, r in zip(values, reach, strict=True) if r >= enough)))

    def answers(self, members: tuple[int, ...]) -> bool:
        """Return whether a set answers any weighted point."""
        answered = self._least(members) != NO_ANSWER
        return bool(self.costs.weights[answered].any())

    def floor_value(self) -> Fraction:
        """Return the lower bound of the objective of unlisted sets, if the boxes hold."""
        proof, total = self.proof, int(self.costs.weights.sum())
        if proof.level is not None:
            higher = self.costs.matrix[self.costs.matrix > proof.level]
            return Fraction(int(higher.min())) if self._reaches_level() else Fraction(0)
        if proof.lost is None:
            return Fraction(proof.floor, total)
        over = proof.floor - proof.lost * total
        sums = [int(self.costs.weights[r != NO_ANSWER].sum()) for r in self.costs.matrix]
        return proof.lost + Fraction(over, total if over > 0 else min(s for s in sums if s))

    def _reaches_level(self) -> bool:
        """Return whether the floor excludes all sets that reach the percentile's threshold."""
        share, total = self.share or Fraction(1), int(self.costs.weights.sum())
        if self.proof.lost is None:
            return self.proof.floor > (1 - share) * total
        return self.proof.floor > (share.denominator - share.numerator) * total

    def _prices(self) -> Ints:
        """Return the costs of the problem that the proof is about, (n_regions, n_points)."""
        level = self.proof.level
        matrix: Ints = self.costs.matrix
        if level is not None:
            share = self.share or Fraction(1)
            beyond = 1 if self.proof.lost is None else share.denominator
            prices = np.where(matrix > level, beyond, 0)
            return np.where(matrix == NO_ANSWER, NO_ANSWER, prices).astype(np.int64)
        return matrix

    def _prices_of_gaps(self) -> Ints:
        """Return the costs with the price of points without an answer, where they have one."""
        lost = self.proof.lost
        return (
            self.matrix if lost is None else np.where(self.matrix == NO_ANSWER, lost, self.matrix)
        )

    def _least(self, members: tuple[int, ...]) -> Ints:
        least: Ints = self.costs.matrix[list(members)].min(axis=0).astype(np.int64)
        return least

    def _weigh(self, members: tuple[int, ...]) -> int:
        """Return the cost of a set in the problem that the proof is about."""
        weights, lost = self.costs.weights, self.proof.lost
        if self.proof.robust:
            rests = combinations(members, len(members) - 1)
            return max(int((self.matrix[list(r)].min(axis=0) * weights).sum()) for r in rests)
        least = self.matrix[list(members)].min(axis=0)
        return int((np.where(least == NO_ANSWER, lost or 0, least) * weights).sum())

    def _examine(self, box: Box) -> str:
        """Return the error of one box, or an empty text."""
        self.deadline.check()
        if not box.base | {box.lost} - {None} <= box.inside or (box.lost in box.base):
            return "a box is bounded from regions that it has not"
        left = self.proof.size - len(box.inside)
        if left < 0:
            return ""
        held = list(box.inside | box.outside)
        free = np.delete(np.arange(self.regions), held)
        sure, saved = self._bound(box, [*free, *(box.inside - box.base - {box.lost})])
        sure -= sum(int(saved[j]) for j in box.inside - box.base - {box.lost})
        if self.proof.robust and box.lost is None:
            # Any one region may be lost, so that one less can save.
            left -= 1
        free = free[np.argsort(-saved[free], kind="stable")]
        if left >= 0 and self._is_closed(sure, saved[free], free, left, list(box.inside)):
            return ""
        order = [int(j) for j in free]
        if box.lost is None and (self.proof.robust or self.far is not None):
            return self._recount(box, order)
        return self._list(box, order)

    def _recount(self, box: Box, free: list[int]) -> str:
        """Evaluate the remainders of the sets of a box, and check the sets that survive."""
        order, size = [*sorted(box.inside), *free], self.proof.size
        if size == PAIR and self.proof.robust:
            return self._pair_up(box, order)
        if size <= PAIR or comb(len(order), size - 1) > MAX_REMAINDERS:
            return self._list(box, free)
        own = self._test(order, box.multipliers)
        if self.proof.robust and self.far is None and size >= MIN_SIZE:
            subsets = SubsetCheck(own, size, len(box.inside), self.deadline)
            return self._check_sets(box, order, subsets.sets())
        fixed = len(box.inside) if len(box.inside) <= size - PAIR else 0
        tests = [own] if self.proof.robust else []
        tests += [] if self.far is None else [self._test_far(order, self.far)]
        recount = RemainderCheck(tests, size, fixed, self.deadline)
        recount.run()
        return self._check_sets(box, order, recount.sets(None if self.proof.robust else own))

    def _check_sets(self, box: Box, order: list[int], found: Iterable[tuple[int, ...]]) -> str:
        """Check the sets of a box among these places of the order."""
        for places in found:
            members = frozenset(order[place] for place in places)
            wrong = self._check_set(members) if box.inside <= members else ""
            if wrong:
                return wrong
        return ""

    def _pair_up(self, box: Box, order: list[int]) -> str:
        """Check the pairs of regions that each cost less than the floor alone."""
        weights, floor = self.costs.weights, self.proof.floor
        good = [j for j in order if int((self.matrix[j] * weights).sum()) < floor]
        for pair in combinations(good, PAIR):
            wrong = self._check_set(frozenset(pair)) if box.inside <= set(pair) else ""
            if wrong:
                return wrong
        return ""

    def _test(self, order: list[int], number: int) -> Test:
        levels = self.proof.multipliers[number].levels.astype(np.int64)
        matrix, weights = self.matrix[order], self.costs.weights
        return Test(priced(matrix, weights), weights, levels, self.proof.shift, self.proof.floor)

    def _test_far(self, order: list[int], far: Far) -> Test:
        weights = self.costs.weights
        prices = priced(far.cells[order].astype(np.int64), weights)
        return Test(prices, weights, np.ones_like(weights), 0, far.most + 1)

    def _is_closed(self, sure: int, saved: Ints, free: Ints, left: int, inside: list[int]) -> bool:
        """Return whether the best choice within provider capacities stays above the floor.

        ``saved`` are the savings of the free regions, descending.
        """
        kinds = np.bincount(self.provider[inside], minlength=self.capacity.size)
        capacity = self.capacity - kinds
        if capacity.min(initial=0) < 0 or free.size < left:
            return True
        if capacity.min(initial=left) >= left:
            return sure - int(saved[:left].sum()) > self.cut
        for j, gain in zip(free, saved, strict=True):
            if left and capacity[self.provider[j]] > 0:
                capacity[self.provider[j]] -= 1
                sure, left = sure - int(gain), left - 1
        return left > 0 or sure > self.cut

    def _list(self, box: Box, free: list[int]) -> str:
        """Check the sets of a box that no bound excludes, one by one."""
        left = self.proof.size - len(box.inside)
        if left <= 0:
            return self._check_set(box.inside) if left == 0 else ""
        if left == len(free):
            return self._check_set(box.inside.union(free))
        levels, start, offset = self._levels(
            box.inside - {box.lost}, self.proof.multipliers[box.multipliers], box.lost
        )
        robust, gap = self.proof.robust, self.proof.lost or 0
        sets = PricedSets(
            self.matrix[:],
            self.priced[:],
            self.costs.weights,
            offset,
            self.proof.shift,
            self.proof.floor,
            NO_ANSWER if robust else gap,
            NO_ANSWER,
            robust,
        )
        walk = create_walk(sets, sorted(box.inside), free, self.proof.size, (start, levels))
        wrong = (self._check_set(found) for found in sets_below(sets, walk, self.deadline))
        return next((text for text in wrong if text), "")

    def _check_set(self, inside: frozenset[int]) -> str:
        members = tuple(sorted(inside))
        known = members in self.listed
        if known or not self.limits.allow(members) or not self.answers(members):
            return ""
        return "" if self._weigh(members) >= self.proof.floor else f"{members} costs less"

    def _bound(self, box: Box, rows: list[int]) -> tuple[int, Ints]:
        """Return what sets that hold the base of a box cost at least, and what each of some
        regions may save of it, (n_regions,)."""
        key = (box.base, box.multipliers, box.lost)
        if key not in self.known:
            if len(self.known) > MAX_KNOWN:
                self.known.clear()
            multipliers = self.proof.multipliers[box.multipliers]
            self.known[key] = self._bounds(box.base, multipliers, box.lost)
        bounds = self.known[key]
        lacking = np.array([j for j in rows if not bounds.known[j]], np.int64)
        if lacking.size:
            levels = self._levels(box.base, self.proof.multipliers[box.multipliers], box.lost)[0]
            bounds.saved[lacking] += self._savings(lacking, levels)
            bounds.known[lacking] = True
        return bounds.sure, bounds.saved

    def _bounds(self, base: frozenset[int], multipliers: Multipliers, lost: int | None) -> Bounds:
        levels, start, offset = self._levels(base, multipliers, lost)
        saved, known = offset.copy(), np.zeros(self.regions, bool)
        if not self.costs.is_streamed:
            saved += savings(self.priced, self.costs.weights, levels, self.proof.shift)
            known[:] = True
        return Bounds(int((levels * self.costs.weights).sum()) + start, saved, known)

    def _savings(self, rows: Ints, levels: Ints) -> Ints:
        """Return the savings of some regions with costs that are computed from the samples."""
        weights, shift = self.costs.weights, self.proof.shift
        found = [savings(self.priced[j : j + 1], weights, levels, shift)[0] for j in rows]
        return np.array(found, np.int64)

    def _levels(
        self, base: frozenset[int], multipliers: Multipliers, lost: int | None
    ) -> tuple[Ints, int, Ints]:
        """Return levels beneath the costs of the base, and what the duals of price and groups add
        to a set's cost and to each region's savings."""
        levels: Ints = multipliers.levels.astype(np.int64)
        for j in base:
            levels = np.minimum(levels, self.priced[j].astype(np.int64) << self.proof.shift)
        start, offset = self._additions(multipliers.rates, lost)
        return levels, start - sum(int(offset[j]) for j in base), offset

    def _additions(self, rates: tuple[int, ...], lost: int | None) -> tuple[int, Ints]:
        """Return the terms of the duals of price and groups, for sets without the lost region."""
        limits = self.limits
        offset = np.zeros(self.regions, np.int64)
        if not any(rates):
            return 0, offset
        if min(rates) < 0:
            raise BadInput("a rate is below zero", field="proof")
        start = -rates[0] * (limits.budget - (0 if lost is None else limits.price[lost]))
        offset -= rates[0] * np.array(limits.price, dtype=np.int64)
        for rate, group, need in zip(rates[1:], limits.groups, limits.needs, strict=True):
            less = (1 if lost is None else int(lost in group)) if self.proof.robust else 0
            start += rate * max(need - less, 0)
            offset[list(group)] += rate
        return start, offset
