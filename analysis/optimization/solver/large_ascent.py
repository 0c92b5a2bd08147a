"""Dual ascent of a box of many points: steps in float32, bounds in exact integers.

The levels are improved by the steps of ``lagrangian_bound`` on approximate savings. At intervals
the best levels are rounded to integers, and the bound and the exclusions are computed exactly.
"""

import time

import numpy as np

from analysis.optimization.solver.block_kernels import (
    Singles,
    active_blocks,
    advance_roughly,
    copy_blocks,
    exact_gains,
    rough_gains,
    rough_sum,
    turn,
)
from analysis.optimization.solver.certificate import Ints, ProofLog
from analysis.optimization.solver.lagrangian_bound import (
    CHOICE_SHARE,
    MAX_STALLED_STEPS,
    MIN_STEP,
    PROGRESS,
    SHRINK,
    SIDE_STEP,
    Ascent,
    Effort,
    Node,
)
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.sampling.recorded_steps import StepLog
from analysis.optimization.solver.search_kernels import as_ints

# Steps between exact bounds.
EXACT_INTERVAL = 20
# Savings of all free regions are computed at every so many steps. In between, those of the best
# ones only: so many per region still to choose, and so many more (partial pricing).
PRICING_INTERVAL = 4
PRICED_PER_CHOICE = 3
PRICED_MORE = 16


class LargeAscent(Ascent):
    """The dual ascent of one box of many points."""

    def __init__(self, problem: Problem, node: Node, proof_log: ProofLog, effort: Effort) -> None:
        super().__init__(problem, node, proof_log, effort)
        self.unit = 2.0 ** (problem.field.shift + problem.rough.shift)
        self.rough_ceiling = self._singles(self.ceiling)
        self.blocks = active_blocks(problem.rough.lows, node.rows, self.rough_ceiling)
        # Where no free region is below the ceiling, it is the best level.
        self.rough = self.rough_ceiling.copy()
        copy_blocks(self._singles(self.levels), self.rough, self.blocks)
        self.rough_best = self.rough.copy()
        costs = self.costs.astype(np.float32) / np.float32(2**problem.rough.shift)
        self.scales = (costs, costs * problem.single_weights)
        # The best approximate bound, and whether an exact one was computed since.
        self.estimate, self.is_certified = -(2**62), False
        # Whether the last step computed the savings of all free regions.
        self.is_whole = True
        self.exact_rates = self.constraint_duals.rates.copy()
        self.log = StepLog(as_ints(problem.best))

    def _singles(self, fine: Ints) -> Singles:
        return (fine / self.unit).astype(np.float32)

    def run(self) -> None:
        """Take steps until the box is closed, the limits are reached, or the ascent stalls."""
        problem, node = self.problem, self.node
        saved = np.empty(0, np.int64)
        for count in range(self.effort.steps):
            saved = self._save_roughly(saved, count)
            top = self._choose(saved)
            self._note(self._bound_roughly(saved, top), top)
            chosen = node.rows[top]
            is_near = self.estimate > problem.worth and not self.is_certified
            if is_near or count % EXACT_INTERVAL == EXACT_INTERVAL - 1:
                self._certify()
            if node.closed or node.rows.size <= self.left or not self._move(chosen):
                break
            self.length *= self.effort.decay
            if count % 8 == 7 and time.monotonic() > self.effort.until:
                break
        if not node.closed and not self.is_certified:
            self._certify()
        self.constraint_duals.best = self.exact_rates
        self._finish()

    def _save_roughly(self, before: Ints, count: int) -> Ints:
        """Return savings per free region; most are those of an earlier step."""
        problem, rows = self.problem, self.node.rows
        priced = self._priced(before, count)
        saved = rough_gains(
            problem.rough.values,
            problem.single_weights,
            self.rough,
            rows[priced],
            (self.blocks, problem.rough.lows),
        )
        fresh = np.rint(saved * self.unit).astype(np.int64)
        fresh += self.constraint_duals.offset[rows[priced]]
        self.is_whole = priced.size == rows.size
        if self.is_whole:
            return fresh
        after: Ints = np.minimum(before, fresh.min())
        after[priced] = fresh
        return after

    def _priced(self, before: Ints, count: int) -> Ints:
        """Return the places of the free regions with savings computed in a step."""
        places = np.arange(self.node.rows.size)
        few = PRICED_PER_CHOICE * self.left + PRICED_MORE
        # Regions may have been excluded since; capacities may need any region.
        is_whole = count % PRICING_INTERVAL == 0 or before.size != places.size
        if is_whole or few >= places.size or self._is_capped():
            return places
        best: Ints = np.sort(np.argpartition(-before, few)[:few])
        return best

    def _bound_roughly(self, saved: Ints, top: Ints) -> int:
        if top.size < self.left:
            return 2**62
        duals = self.constraint_duals
        sure = rough_sum(self.problem.single_weights, self.rough) * self.unit
        inside = int(duals.offset[list(self.node.inside)].sum())
        return int(sure) + duals.start - inside - int(saved[top].sum())

    def _note(self, bound: int, top: Ints) -> None:
        """Keep the levels if their approximate bound is the best so far.

        A bound without the savings of some regions may be too high.
        """
        self.frequency *= 1 - CHOICE_SHARE
        self.frequency[self.node.rows[top]] += CHOICE_SHARE
        if not self.is_whole:
            return
        is_first = self.estimate == -(2**62)
        is_progress = is_first or bound > self.estimate + PROGRESS * abs(self.estimate)
        self.stalled = 0 if is_progress else self.stalled + 1
        if bound > self.estimate:
            self.estimate, self.is_certified = bound, False
            self.rough_best[:] = self.rough
            self.constraint_duals.save()
            self.log.mark()

    def _certify(self) -> None:
        """Compute the exact bound of the best levels, and exclude regions by it."""
        problem, node, duals = self.problem, self.node, self.constraint_duals
        current = duals.rates
        duals.restore()
        fine = np.rint(self.rough_best.astype(np.float64) * self.unit).astype(np.int64)
        self.levels = np.minimum(fine, self.ceiling)
        saved = exact_gains(
            problem.field.values,
            problem.field.weights,
            self.levels,
            node.rows,
            problem.field.shift,
            problem.lows,
        )
        saved += duals.offset[node.rows]
        top = self._choose(saved)
        bound = self._bound(saved, top)
        if bound > node.bound:
            node.bound, self.best, self.exact_rates = bound, self.levels, duals.rates.copy()
            self.log.certify()
        node.closed = bound > problem.worth
        if not node.closed:
            problem.offer([*node.inside, *node.rows[top]])
            self._exclude(saved, top, bound, 0)
        self.is_certified = True
        duals.resume(current)

    def _move(self, chosen: Ints) -> bool:
        """Take a step along the subgradient; return False when the step length is exhausted."""
        if self.stalled >= MAX_STALLED_STEPS:
            self.length *= SHRINK
            self.stalled = 0
            self.rough[:] = self.rough_best
            self.direction[:] = 0
            self.constraint_duals.restore()
            self.log.revert()
            return self.length >= MIN_STEP
        problem, duals = self.problem, self.constraint_duals
        levels = (self.rough, self.rough_ceiling)
        norm = turn(
            problem.rough.values,
            levels,
            chosen,
            self.scales,
            self.direction,
            (self.effort.momentum, self.blocks),
        )
        gap = max((int(problem.incumbents.costs[0]) << problem.field.shift) - self.estimate, 1)
        duals.step(chosen, self.length * gap * SIDE_STEP)
        step = self.length * gap / self.unit / max(norm, 1e-9)
        advance_roughly(levels, self.direction, self.scales[0], step, self.blocks)
        self.log.add(chosen, step, self.effort.momentum)
        return True
