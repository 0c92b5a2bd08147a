"""Robust k-region problem for a percentile: minimise it after the worst single loss.

A set reaches a threshold after any loss if each of its remainders covers enough weight within it:
that is the robust problem of a cost of 1 per point beyond the threshold.
"""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from analysis.optimization.failures.robust import RobustResult, search_robust
from analysis.optimization.failures.robust_search import RobustProblem
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Costs
from analysis.optimization.solver.certificate import Multipliers, Proof
from analysis.optimization.solver.local_search import exchange_losses, start
from analysis.optimization.solver.mean import Aim, Solution
from analysis.optimization.solver.percentile import STARTS, Cover, Percentiles
from analysis.optimization.solver.problem import field_of


class RobustPercentiles(Percentiles):
    """The search over all thresholds of one percentile after the worst single loss."""

    def level_of(self, members: tuple[int, ...]) -> int | None:
        """Return the percentile of a set after its worst loss."""
        rests = combinations(members, len(members) - 1)
        levels = [super(RobustPercentiles, self).level_of(rest) for rest in rests]
        return max(level for level in levels if level is not None)

    def _first(self) -> None:
        costs = self.costs
        problem = RobustProblem(field_of(costs.matrix, costs.weights), self.limits, self.size, 4)
        if start(problem):
            exchange_losses(problem)
            for members in problem.listed:
                self.learn(members)

    def _try(self, level: int) -> bool:
        problem, cover = self._robust_problem(level, cutoff=False)
        for members in sorted(self.known, key=lambda s: self.known[s])[:STARTS]:
            problem.offer(members)
        exchange_losses(problem)
        for members in problem.listed:
            self.learn(members)
        return problem.cost(problem.best) <= cover.allowance

    def _robust_problem(self, level: int, *, cutoff: bool) -> tuple[RobustProblem, Cover]:
        cover = self.cover(level)
        field = field_of(cover.matrix, cover.weights)
        limit = cover.allowance + 1 if cutoff else 0
        return RobustProblem(field, self.limits, self.size, max(self.aim.places, 1), limit), cover

    def _prove(self) -> tuple[bool, Proof | None]:
        """Search the next lower threshold, repeatedly while a set reaches it."""
        while True:
            place = int(self.steps.searchsorted(self.best))
            if place == 0:
                return True, replace(self._proof_of_least(), robust=True)
            level = int(self.steps[place - 1])
            problem, cover = self._robust_problem(level, cutoff=True)
            problem.guide = min(self.known, key=lambda s: self.known[s])
            found = search_robust(problem, self.limits, self.aim)
            self.nodes += found.nodes
            for members in problem.listed:
                self.learn(members)
            if not found.proven or time.monotonic() > self.aim.until:
                return False, None
            if not problem.listed:
                return True, _spread(found, cover, level)


def _spread(found: RobustResult, cover: Cover, level: int) -> Proof:
    """Return the proof of a threshold, with the levels of merged points at each of them."""
    spread = tuple(Multipliers(m.levels[cover.member], m.rates) for m in found.proof.multipliers)
    return replace(found.proof, floor=found.bound, listed=(), multipliers=spread, level=level)


def solve_robust_percentile(
    costs: Costs, limits: Limits, size: int, share: Fraction, aim: Aim
) -> Solution:
    """Return the sets of least percentile after the worst loss; none if infeasible."""
    return RobustPercentiles(costs, limits, size, share, aim).solve()
