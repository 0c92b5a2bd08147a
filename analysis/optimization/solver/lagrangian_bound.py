"""Dual ascent: subgradient steps on the Lagrangian bound of a box (Held, Wolfe and Crowder 1974).

Every bound is exact, so that regions can be excluded permanently (reduced-cost fixing).
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints, ProofLog
from analysis.optimization.solver.constraint_duals import ConstraintDuals
from analysis.optimization.solver.cost_kernels import (
    advance,
    gains,
    lower,
    slopes,
    update_direction,
    weigh,
)
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Dual, as_ints

# Momentum of the direction, and weight of the last choice in the frequencies.
MOMENTUM = 0.8
CHOICE_SHARE = 0.1
# After this many steps without progress the step length shrinks by this factor, down to a minimum.
MAX_STALLED_STEPS = 20
SHRINK = 0.6
MIN_STEP = 0.01
# Progress below this share of the bound counts as none.
PROGRESS = 1e-5
# Steps between exclusions of regions; more where copies of levels are large.
EXCLUSION_INTERVAL = 4
LONG_EXCLUSION_INTERVAL = 12
MANY_POINTS = 100_000
# Multipliers for prices and groups move by this share of a full step.
SIDE_STEP = 0.1


@dataclass(frozen=True)
class Branch:
    """The region that is fixed or excluded in a box; ``share`` is its frequency in the parent."""

    region: int
    is_fixed: bool
    share: float


@dataclass(eq=False)
class Node:
    """A node of the search: fixed and free regions, duals, frequency of choice per region, the
    branch that made it, and duals of a sample of the points."""

    inside: tuple[int, ...]
    rows: Ints
    dual: Dual
    side: NDArray[np.float64] | None = None
    bound: int = 0
    frequency: NDArray[np.float64] | None = None
    branch: Branch | None = None
    closed: bool = False
    sample: Dual | None = None


@dataclass(frozen=True)
class Effort:
    """Limits of the ascent: steps, initial step length, deadline (monotonic clock).

    Each step is shorter than the one before by ``decay``.
    """

    steps: int
    length: float
    until: float
    decay: float = 1.0
    momentum: float = MOMENTUM


class Ascent:
    """The dual ascent of one box."""

    # Regions that are excluded together at least, as the proof stores levels for them.
    least_excluded = 1

    def __init__(self, problem: Problem, node: Node, proof_log: ProofLog, effort: Effort) -> None:
        self.problem, self.node, self.proof_log, self.effort = problem, node, proof_log, effort
        field = problem.field
        self.left = problem.size - len(node.inside)
        least = np.full(problem.points, problem.worst, np.int64)
        for j in node.inside:
            lower(field.values, j, least, least)
        self.ceiling = least << field.shift
        self.levels = np.minimum(node.dual.levels, self.ceiling)
        self.constraint_duals = ConstraintDuals(problem.rules, node.inside, node.side)
        self.costs = np.maximum(problem.best_costs, 1)
        self.direction = np.zeros(problem.points, np.float32)
        self.slope = np.empty(problem.points, np.int8)
        self.frequency = (
            np.zeros(field.values.shape[0]) if node.frequency is None else node.frequency.copy()
        )
        self.best = self.levels.copy()
        self.length, self.stalled = effort.length, 0
        # Each exclusion stores a copy of the levels in the proof.
        self.exclusion_interval = (
            LONG_EXCLUSION_INTERVAL if problem.points >= MANY_POINTS else EXCLUSION_INTERVAL
        )
        node.bound = -(2**62)

    def run(self) -> None:
        """Take steps until the box is closed, the limits are reached, or the ascent stalls."""
        for count in range(self.effort.steps):
            saved = self._save()
            top = self._choose(saved)
            bound = self._bound(saved, top)
            self._update_bound(bound, top)
            if bound > self.problem.worth:
                self.node.closed = True
                break
            chosen = self.node.rows[top]
            self._exclude(saved, top, bound, count)
            if self.node.rows.size <= self.left or not self._move(chosen):
                break
            self.length *= self.effort.decay
            if count % 8 == 7 and time.monotonic() > self.effort.until:
                break
        self._finish()

    def _finish(self) -> None:
        self.node.frequency = self.frequency
        self.constraint_duals.restore()
        self.node.side = self.constraint_duals.rates
        self.node.dual = Dual(self.best, self.constraint_duals.start, self.constraint_duals.offset)

    def _save(self) -> Ints:
        field = self.problem.field
        saved = gains(field.values, field.weights, self.levels, self.node.rows, field.shift)
        return saved + self.constraint_duals.offset[self.node.rows]

    def _choose(self, saved: Ints) -> Ints:
        """Return the best choice within provider capacities; prices and groups are relaxed."""
        if not self._is_capped():
            return np.argpartition(-saved, self.left - 1)[: self.left]
        return choose_by_provider(self.problem, self.node, saved, self.left)

    def _is_capped(self) -> bool:
        """Whether a provider's capacity may be less than the size of the set."""
        return min(self.problem.limits.capacity, default=0) < self.problem.size

    def _bound(self, saved: Ints, top: Ints) -> int:
        inside = int(self.constraint_duals.offset[list(self.node.inside)].sum())
        sure = weigh(self.problem.field.weights, self.levels) + self.constraint_duals.start - inside
        if top.size < self.left:
            # No set of this box respects the provider capacities.
            return 2**62
        return int(sure - int(saved[top].sum()))

    def _update_bound(self, bound: int, top: Ints) -> None:
        self.frequency *= 1 - CHOICE_SHARE
        self.frequency[self.node.rows[top]] += CHOICE_SHARE
        least = self.node.bound + PROGRESS * abs(self.node.bound)
        self.stalled = 0 if bound > least or self.node.bound == -(2**62) else self.stalled + 1
        if bound > self.node.bound:
            self.node.bound = bound
            self.best[:] = self.levels
            self.constraint_duals.save()
            self.problem.offer([*self.node.inside, *self.node.rows[top]])

    def _exclude(self, saved: Ints, top: Ints, bound: int, count: int) -> None:
        """Exclude regions with a bound, exchanged for the worst chosen region, above the
        cut-off."""
        if count % self.exclusion_interval or top.size < self.left:
            return
        gone = bound + int(saved[top].min()) - saved > self.problem.worth
        gone[top] = False
        if gone.sum() < self.least_excluded:
            return
        number = self._log_multipliers()
        exclude(self.problem, self.node, self.node.rows[gone], (number, self.proof_log))
        self.node.rows = self.node.rows[~gone]

    def _log_multipliers(self) -> int:
        return self.proof_log.add_multipliers(self.levels, self.constraint_duals.rates)

    def _move(self, chosen: Ints) -> bool:
        """Take a step along the subgradient; return False when the step length is exhausted."""
        if self.stalled >= MAX_STALLED_STEPS:
            self.length *= SHRINK
            self.stalled = 0
            self.levels[:] = self.best
            self.direction[:] = 0
            self.constraint_duals.restore()
            return self.length >= MIN_STEP
        field = self.problem.field
        slopes(field.values, self.levels, chosen, field.shift, self.slope)
        self.slope[(self.levels >= self.ceiling) & (self.slope > 0)] = 0
        norm = update_direction(
            self.slope, self.costs, field.weights, self.direction, self.effort.momentum
        )
        gap = max((int(self.problem.incumbents.costs[0]) << field.shift) - self.node.bound, 1)
        self.constraint_duals.step(chosen, self.length * gap * SIDE_STEP)
        step = self.length * gap / max(norm, 1e-9)
        advance(self.levels, self.direction, self.costs, step, self.ceiling)
        return True


def choose_by_provider(problem: Problem, node: Node, saved: Ints, left: int) -> Ints:
    """Return the best choice within the capacity of each provider."""
    capacity = list(problem.limits.capacity)
    for j in node.inside:
        capacity[problem.limits.provider[j]] -= 1
    top: list[int] = []
    for a in np.argsort(-saved, kind="stable"):
        kind = problem.limits.provider[int(node.rows[a])]
        if capacity[kind] > 0:
            capacity[kind] -= 1
            top.append(int(a))
            if len(top) == left:
                break
    return as_ints(top)


def exclude(problem: Problem, node: Node, gone: Ints, proof: tuple[int, ProofLog]) -> None:
    """Record a closed box per excluded region."""
    number, proof_log = proof
    base, outside = frozenset(node.inside), outside_of(problem, node)
    for j in gone:
        proof_log.add_box(base | {int(j)}, outside, base, number)
        outside |= {int(j)}


def outside_of(problem: Problem, node: Node) -> frozenset[int]:
    """Return the regions that are neither fixed nor free."""
    return frozenset(range(problem.field.values.shape[0])) - {*node.inside, *map(int, node.rows)}
