"""A box goes in; multipliers come out that bound its sets' costs, by subgradient steps.

Every step's bound is exact, so that regions it excludes are excluded for good.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints, Ledger
from analysis.optimization.solver.constraint_duals import Slant
from analysis.optimization.solver.cost_kernels import advance, aim, gains, lower, slopes, weigh
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Dual, as_ints

# Share of the last direction that is kept, and of the last choice in the frequencies.
MOMENTUM = 0.8
CHOICE_SHARE = 0.1
# After so many steps without progress the step shrinks by this factor, down to the least step.
PATIENCE = 20
SHRINK = 0.6
LEAST_STEP = 0.01
# Progress below this share of the bound counts as none.
PROGRESS = 1e-5
# Regions are excluded every so many steps; more seldom where copies of levels are large.
PAUSE = 4
LONG_PAUSE = 12
MANY_POINTS = 100_000
# Multipliers for prices and groups move by this share of a full step.
SIDE_STEP = 0.1


@dataclass(eq=False)
class Node:
    """A box under work: regions inside, regions free, multipliers, and how often each is chosen."""

    inside: tuple[int, ...]
    rows: Ints
    dual: Dual
    side: NDArray[np.float64] | None = None
    bound: int = 0
    often: NDArray[np.float64] | None = None
    closed: bool = False


@dataclass(frozen=True)
class Effort:
    """How long to climb, from which step length, and the clock's end."""

    steps: int
    length: float
    until: float


class Ascent:
    """The climb in one box."""

    def __init__(self, problem: Problem, node: Node, ledger: Ledger, effort: Effort) -> None:
        self.problem, self.node, self.ledger, self.effort = problem, node, ledger, effort
        field = problem.field
        self.left = problem.size - len(node.inside)
        least = np.full(problem.points, problem.worst, np.int64)
        for j in node.inside:
            lower(field.values, j, least, least)
        self.ceiling = least << field.shift
        self.levels = np.minimum(node.dual.levels, self.ceiling)
        self.slant = Slant(problem.rules, node.inside, node.side)
        self.costs = np.maximum(problem.nearest(problem.best)[0], 1)
        self.heading = np.zeros(problem.points, np.float32)
        self.slope = np.empty(problem.points, np.int8)
        self.often = np.zeros(field.values.shape[0]) if node.often is None else node.often.copy()
        self.best = self.levels.copy()
        self.length, self.stalled = effort.length, 0
        # Each exclusion keeps a copy of the levels for the proof.
        self.pause = LONG_PAUSE if problem.points >= MANY_POINTS else PAUSE
        node.bound = -(2**62)

    def run(self) -> None:
        """Climb until the box is closed, the steps are used up, or nothing moves any more."""
        for count in range(self.effort.steps):
            saved = self._save()
            top = self._choose(saved)
            bound = self._bound(saved, top)
            self._note(bound, top)
            if bound > self.problem.worth:
                self.node.closed = True
                break
            chosen = self.node.rows[top]
            self._exclude(saved, top, bound, count)
            if self.node.rows.size <= self.left or not self._move(chosen):
                break
            if count % 8 == 7 and time.monotonic() > self.effort.until:
                break
        self.node.often = self.often
        self.slant.back()
        self.node.side = self.slant.rates
        self.node.dual = Dual(self.best, self.slant.start, self.slant.offset)

    def _save(self) -> Ints:
        field = self.problem.field
        saved = gains(field.values, field.weights, self.levels, self.node.rows, field.shift)
        return saved + self.slant.offset[self.node.rows]

    def _choose(self, saved: Ints) -> Ints:
        """Give the places of the best allowed choice that ignores prices and groups."""
        limits = self.problem.limits
        if min(limits.room, default=0) >= self.problem.size:
            return np.argpartition(-saved, self.left - 1)[: self.left]
        return choose_by_provider(self.problem, self.node, saved, self.left)

    def _bound(self, saved: Ints, top: Ints) -> int:
        inside = int(self.slant.offset[list(self.node.inside)].sum())
        sure = weigh(self.problem.field.weights, self.levels) + self.slant.start - inside
        if top.size < self.left:
            # No set of this box keeps to the providers' limits.
            return 2**62
        return int(sure - int(saved[top].sum()))

    def _note(self, bound: int, top: Ints) -> None:
        self.often *= 1 - CHOICE_SHARE
        self.often[self.node.rows[top]] += CHOICE_SHARE
        least = self.node.bound + PROGRESS * abs(self.node.bound)
        self.stalled = 0 if bound > least or self.node.bound == -(2**62) else self.stalled + 1
        if bound > self.node.bound:
            self.node.bound = bound
            self.best[:] = self.levels
            self.slant.keep()
            self.problem.offer([*self.node.inside, *self.node.rows[top]])

    def _exclude(self, saved: Ints, top: Ints, bound: int, count: int) -> None:
        """Drop regions whose choice, at the expense of the worst chosen, costs too much."""
        if count % self.pause or top.size < self.left:
            return
        gone = bound + int(saved[top].min()) - saved > self.problem.worth
        gone[top] = False
        if not gone.any():
            return
        number = self.ledger.keep(self.levels, self.slant.rates)
        exclude(self.problem, self.node, self.node.rows[gone], (number, self.ledger))
        self.node.rows = self.node.rows[~gone]

    def _move(self, chosen: Ints) -> bool:
        """Take a step along the subgradient; say whether there is any step left."""
        if self.stalled >= PATIENCE:
            self.length *= SHRINK
            self.stalled = 0
            self.levels[:] = self.best
            self.heading[:] = 0
            self.slant.back()
            return self.length >= LEAST_STEP
        field = self.problem.field
        slopes(field.values, self.levels, chosen, field.shift, self.slope)
        self.slope[(self.levels >= self.ceiling) & (self.slope > 0)] = 0
        norm = aim(self.slope, self.costs, field.weights, self.heading, MOMENTUM)
        gap = max((int(self.problem.podium.costs[0]) << field.shift) - self.node.bound, 1)
        self.slant.move(chosen, self.length * gap * SIDE_STEP)
        step = self.length * gap / max(norm, 1e-9)
        advance(self.levels, self.heading, self.costs, step, self.ceiling)
        return True


def choose_by_provider(problem: Problem, node: Node, saved: Ints, left: int) -> Ints:
    """Give the best choice with at most so many of each provider."""
    room = list(problem.limits.room)
    for j in node.inside:
        room[problem.limits.provider[j]] -= 1
    top: list[int] = []
    for a in np.argsort(-saved, kind="stable"):
        kind = problem.limits.provider[int(node.rows[a])]
        if room[kind] > 0:
            room[kind] -= 1
            top.append(int(a))
            if len(top) == left:
                break
    return as_ints(top)


def exclude(problem: Problem, node: Node, gone: Ints, proof: tuple[int, Ledger]) -> None:
    """Write down, region by region, that no set of the box with it is good enough."""
    number, ledger = proof
    base, outside = frozenset(node.inside), outside_of(problem, node)
    for j in gone:
        ledger.close(base | {int(j)}, outside, base, number)
        outside |= {int(j)}


def outside_of(problem: Problem, node: Node) -> frozenset[int]:
    """Give the regions that are neither inside nor free."""
    return frozenset(range(problem.field.values.shape[0])) - {*node.inside, *map(int, node.rows)}
