"""Solve the k-region problem for a percentile, with lower bound and proof.

Whether a set brings enough weight within a threshold is a maximum coverage problem: points within
the threshold cost nothing. Heuristics find good sets; the next lower threshold is then proven
infeasible.
"""

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import NO_ANSWER, Costs, Ints, Matrix
from analysis.optimization.solver.benders import Cuts
from analysis.optimization.solver.branch_and_bound import Outcome, Tree
from analysis.optimization.solver.certificate import Box, Multipliers, Proof
from analysis.optimization.solver.local_search import exchange, greedy, start
from analysis.optimization.solver.mean import Aim, Solution
from analysis.optimization.solver.problem import Problem, field_of

# Starts of the local search per threshold; more did not pay off.
STARTS = 3


@dataclass(frozen=True, eq=False)
class Cover:
    """The coverage problem of a threshold; points covered by the same regions are merged."""

    matrix: Matrix
    weights: Ints
    member: Ints
    lost: int | None
    allowance: int


class Percentiles:
    """The search over all thresholds of one percentile."""

    def __init__(self, costs: Costs, limits: Limits, size: int, share: Fraction, aim: Aim) -> None:
        self.costs, self.limits, self.size, self.share = costs, limits, size, share
        self.aim, self.nodes = aim, 0
        self.known: dict[tuple[int, ...], int] = {}
        self.drops = bool(costs.gaps) and costs.penalty is None
        self.steps = np.unique(costs.matrix[costs.matrix != NO_ANSWER])

    def solve(self) -> Solution:
        """Return the best set, proven if no set reaches the next lower threshold."""
        self._first()
        if not self.known:
            return Solution((), Fraction(0), True, 0, 0, None)
        self._bisect_thresholds()
        outcome, proof = self._prove()
        sets = tuple(
            (s, Fraction(v))
            for s, v in sorted(self.known.items(), key=lambda item: (item[1], item[0]))
        )[: self.aim.places]
        bound = sets[0][1] if outcome else Fraction(self._lower_bound())
        return Solution(sets, bound, outcome, int(outcome), self.nodes, proof)

    def level_of(self, members: tuple[int, ...]) -> int | None:
        """Return the percentile of a set, or None without an answer."""
        least = self.costs.matrix[list(members)].min(axis=0)
        weights = self.costs.weights
        if self.drops:
            answered = least != NO_ANSWER
            least, weights = least[answered], weights[answered]
        total = int(weights.sum())
        if not total:
            return None
        order = np.argsort(least, kind="stable")
        reached = np.cumsum(weights[order])
        place = np.searchsorted(reached, math.ceil(self.share * total))
        return int(least[order[place]])

    def cover(self, level: int) -> Cover:
        """Return the coverage problem of a threshold and the cost allowed to reach it."""
        part, whole = self.share.numerator, self.share.denominator
        price, lost = (whole, whole - part) if self.drops else (1, None)
        matrix = self.costs.matrix
        beyond = (matrix > level).astype(np.int32) * np.int32(price)
        if self.drops:
            beyond[matrix == NO_ANSWER] = NO_ANSWER
        small = np.where(beyond == NO_ANSWER, 2, beyond > 0).astype(np.uint8)
        kinds = np.ascontiguousarray(small.T).view(f"V{small.shape[0]}").ravel()
        _, first, member = np.unique(kinds, return_index=True, return_inverse=True)
        weights = np.zeros(first.size, np.int64)
        np.add.at(weights, member, self.costs.weights)
        total = int(weights.sum())
        spare = (whole - part) * total if self.drops else total - math.ceil(self.share * total)
        merged = np.ascontiguousarray(beyond[:, first])
        return Cover(merged, weights, member.astype(np.int64), lost, spare)

    def problem(self, level: int, *, cutoff: bool) -> tuple[Problem, Cover]:
        """Return a threshold as a problem; with the cut-off, only sets that reach it count."""
        cover = self.cover(level)
        field = field_of(cover.matrix, cover.weights, cover.lost)
        places = max(self.aim.places, 1)
        limit = cover.allowance + 1 if cutoff else 0
        return Problem(field, self.limits, self.size, places, limit), cover

    def learn(self, members: tuple[int, ...]) -> None:
        """Store a set and its percentile."""
        if members not in self.known:
            level = self.level_of(members)
            if level is not None:
                self.known[members] = level

    @property
    def best(self) -> int:
        """The least percentile of the known sets."""
        return min(self.known.values())

    def _first(self) -> None:
        costs = self.costs
        lost = None
        if self.drops:
            lost = int(costs.matrix[costs.matrix != NO_ANSWER].max(initial=0))
        problem = Problem(field_of(costs.matrix, costs.weights, lost), self.limits, self.size, 4)
        if start(problem):
            for members in problem.listed:
                self.learn(members)

    def _bisect_thresholds(self) -> None:
        """Bisect the thresholds by local search from several starts."""
        low, high = 0, int(np.searchsorted(self.steps, self.best))
        while low < high and time.monotonic() < self.aim.until:
            middle = (low + high) // 2
            if self._try(int(self.steps[middle])):
                high = int(np.searchsorted(self.steps, self.best))
            else:
                low = middle + 1

    def _try(self, level: int) -> bool:
        problem, cover = self.problem(level, cutoff=False)
        ranked = sorted(self.known, key=lambda s: self.known[s])[: STARTS - 1]
        for chosen in (greedy(problem), *map(list, ranked)):
            if self.limits.allow(tuple(chosen)) and len(chosen) == self.size:
                problem.offer(chosen)
                found = tuple(sorted(exchange(problem, chosen)))
                if problem.cost(found) <= cover.allowance:
                    self.learn(found)
                    return self.known.get(found, level + 1) <= level
        return False

    def _prove(self) -> tuple[bool, Proof | None]:
        """Search the next lower threshold, repeatedly while a set reaches it."""
        while True:
            place = int(np.searchsorted(self.steps, self.best))
            if place == 0:
                return True, self._proof_of_least()
            problem, cover = self.problem(int(self.steps[place - 1]), cutoff=True)
            cells = self.aim.plain_cells
            tree = Tree(problem, self.aim.until, Cuts(problem), first=True, plain_cells=cells)
            outcome = tree.run()
            self.nodes += outcome.nodes
            for members in problem.listed:
                self.learn(members)
            if not problem.listed:
                proof = self._proof(problem, tree, outcome, cover)
                return outcome.proven, proof if outcome.proven else None

    def _proof(self, problem: Problem, tree: Tree, outcome: Outcome, cover: Cover) -> Proof:
        spread = tuple(
            Multipliers(m.levels[cover.member], m.rates) for m in tree.proof_log.multipliers
        )
        place = int(np.searchsorted(self.steps, self.best))
        return Proof(
            self.size,
            problem.field.shift,
            outcome.bound,
            (),
            tuple(tree.proof_log.boxes),
            spread,
            cover.lost,
            int(self.steps[place - 1]),
        )

    def _proof_of_least(self) -> Proof:
        """Return the proof for a threshold below every value."""
        cover = self.cover(int(self.steps[0]) - 1)
        whole = self.costs.matrix.shape[0]
        free = set(range(whole)) - {*self.limits.inside, *self.limits.outside}
        inside = frozenset(self.limits.inside)
        outside = frozenset(range(whole)) - inside - free
        dearest = 1 if cover.lost is None else self.share.denominator
        levels = np.full(self.costs.weights.size, dearest, np.int64)
        box = Box(inside, outside, frozenset(), 0)
        multipliers = (Multipliers(levels, ()),)
        level = int(self.steps[0]) - 1
        floor = cover.allowance + 1
        return Proof(self.size, 0, floor, (), (box,), multipliers, cover.lost, level)

    def _lower_bound(self) -> int:
        """Return the threshold after the highest that the root bound proves infeasible."""
        low, high = 0, int(np.searchsorted(self.steps, self.best))
        while low < high:
            middle = (low + high) // 2
            problem, _ = self.problem(int(self.steps[middle]), cutoff=True)
            tree = Tree(problem, 0.0, Cuts(problem), first=True)
            tree.run_root()
            if tree.open or problem.listed:
                high = middle
            else:
                low = middle + 1
        return int(self.steps[low])


def solve_percentile(
    costs: Costs, limits: Limits, size: int, share: Fraction, aim: Aim
) -> Solution:
    """Return the sets of least percentile; none if the problem is infeasible."""
    return Percentiles(costs, limits, size, share, aim).solve()
