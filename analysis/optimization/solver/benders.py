"""Benders cuts: the linear relaxation of the p-median problem of a box, solved with HiGHS.

Its duals, aggregated per point and rounded, are dual levels, so that the bound stays exact. For
many chosen regions it is far tighter than subgradient steps, and its solution is often integral.
"""

import time
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.constraint_duals import additions
from analysis.optimization.solver.cost_kernels import capped, gains, lower
from analysis.optimization.solver.lagrangian_bound import Node
from analysis.optimization.solver.local_search import exchange
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Dual

Floats = NDArray[np.float64]

MAX_ROUNDS = 100
# Minimum violation of a cut, as a share of the cost of its point.
MIN_VIOLATION = 1e-6
# Tolerance of a sum of fractional choices equal to one.
NEARLY_ONE = 1 - 1e-9


class Cuts:
    """The master programme of one problem; cuts are valid in every box and are kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.regions, self.points = problem.field.values.shape
        self.owner: list[NDArray[np.int64]] = []
        self.level: list[Floats] = []
        self.solver: Any = None

    def improve(self, node: Node, until: float) -> None:
        """Raise the bound of a box, and offer the sets found by rounding."""
        if self.solver is None:
            self._build_program()
        self._set_bounds(node)
        if not self.owner:
            everyone = np.arange(self.points)
            self._add(everyone, node.dual.levels / 2.0**self.problem.field.shift)
        choice = self._solve(until)
        if choice is not None:
            self._apply_duals(node)
            node.frequency = choice.copy()
            self._round(node, choice)

    def _build_program(self) -> None:
        problem, n = self.problem, self.regions
        values = problem.field.values
        self.order = np.argsort(values, axis=0, kind="stable").astype(np.int32)
        self.sorted = np.take_along_axis(values, self.order, 0)
        self.solver = _silent_solver()
        infinite = highspy.kHighsInf
        self.solver.addVars(n, np.zeros(n), np.ones(n))
        self.solver.addVars(self.points, np.zeros(self.points), np.full(self.points, infinite))
        owners = np.arange(n, n + self.points, dtype=np.int32)
        self.solver.changeColsCost(self.points, owners, problem.field.weights.astype(np.float64))
        self._row(problem.size, problem.size, np.ones(n))
        self._add_constraints()
        self.constraint_rows = self.solver.getNumRow()

    def _add_constraints(self) -> None:
        rules, infinite = self.problem.rules, highspy.kHighsInf
        for kind, capacity in enumerate(rules.capacity):
            if capacity < self.problem.size:
                self._row(-infinite, float(capacity), (rules.provider == kind).astype(np.float64))
        for group, need in zip(rules.groups, rules.needs, strict=True):
            self._row(float(need), infinite, group.astype(np.float64))
        if rules.price.any():
            self._row(-infinite, float(rules.budget), rules.price.astype(np.float64))

    def _row(self, low: float, high: float, factors: Floats) -> None:
        places = np.flatnonzero(factors).astype(np.int32)
        self.solver.addRow(low, high, places.size, places, factors[places])

    def _set_bounds(self, node: Node) -> None:
        low, high = np.zeros(self.regions), np.zeros(self.regions)
        high[node.rows] = 1
        low[list(node.inside)] = high[list(node.inside)] = 1
        everyone = np.arange(self.regions, dtype=np.int32)
        self.solver.changeColsBounds(self.regions, everyone, low, high)

    def _add(self, points: NDArray[np.int64], levels: Floats) -> None:
        """Add a cut per point: cost >= level - sum of (level - value) over chosen regions below
        it."""
        beneath = (self.sorted[:, points] < levels).sum(axis=0)
        wide = np.arange(beneath.max(initial=0))[:, None] < beneath
        rank, place = np.nonzero(wide.T)[::-1]
        rows = self.order[rank, points[place]]
        factors = levels[place] - self.sorted[rank, points[place]]
        starts = np.concatenate(([0], np.cumsum(beneath + 1)[:-1]))
        total = int(beneath.sum()) + points.size
        index, value = np.empty(total, np.int32), np.empty(total)
        index[starts], value[starts] = self.regions + points, 1.0
        rest = np.ones(total, bool)
        rest[starts] = False
        index[rest], value[rest] = rows, factors
        high = np.full(points.size, highspy.kHighsInf)
        self.solver.addRows(
            points.size,
            levels.astype(np.float64),
            high,
            total,
            starts.astype(np.int32),
            index,
            value,
        )
        self.owner.append(points)
        self.level.append(levels.astype(np.float64))

    def _solve(self, until: float) -> Floats | None:
        """Solve and add violated cuts until none is left; return the fractional choice,
        (n_regions,)."""
        choice = None
        for _ in range(MAX_ROUNDS):
            self.solver.setOptionValue("time_limit", self._time_left(until))
            self.solver.run()
            if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return choice
            found = np.array(self.solver.getSolution().col_value)
            choice = found[: self.regions]
            points, levels = self._violated(choice, found[self.regions :])
            if not points.size or time.monotonic() > until:
                return choice
            self._add(points, levels)
        return choice

    def _time_left(self, until: float) -> float:
        # The solver's clock accumulates over all runs.
        return float(self.solver.getRunTime() + max(until - time.monotonic(), 0.01))

    def _violated(self, choice: Floats, costs: Floats) -> tuple[NDArray[np.int64], Floats]:
        ranked = choice[self.order]
        rank = (np.cumsum(ranked, axis=0) < NEARLY_ONE).sum(axis=0)
        levels = np.take_along_axis(self.sorted, np.minimum(rank, self.regions - 1)[None], 0)[0]
        saved = (np.maximum(levels - self.sorted, 0) * ranked).sum(axis=0)
        real = levels - saved
        lacking = real - costs > MIN_VIOLATION * np.maximum(1.0, real)
        points = np.flatnonzero(lacking)
        return points, levels[points].astype(np.float64)

    def _apply_duals(self, node: Node) -> None:
        every = np.array(self.solver.getSolution().row_dual)
        duals = every[self.constraint_rows :]
        # Rows added since the last run have no duals yet.
        owner = np.concatenate(self.owner)[: duals.size]
        level = np.concatenate(self.level)[: duals.size]
        field = self.problem.field
        summed = np.bincount(owner, duals * level, minlength=self.points)
        fine = np.rint(summed / np.maximum(field.weights, 1) * 2.0**field.shift)
        rates = self._rates(every[: self.constraint_rows])
        dual = Dual(fine.astype(np.int64), *additions(self.problem.rules, rates))
        bound = bound_of(self.problem, node, dual)
        if bound > node.bound:
            node.dual, node.side, node.bound = dual, rates, bound
        node.closed = node.bound > self.problem.worth

    def _rates(self, duals: Floats) -> Floats:
        """Return the duals of the budget and the groups from the constraint rows."""
        rules, scale = self.problem.rules, 2.0**self.problem.field.shift
        rates = np.zeros(1 + rules.needs.size)
        priced = int(rules.price.any())
        if priced:
            rates[0] = max(-duals[-1], 0.0) * scale
        groups = duals[duals.size - priced - rules.needs.size : duals.size - priced]
        rates[1:] = np.maximum(groups, 0.0) * scale
        return rates

    def _round(self, node: Node, choice: Floats) -> None:
        left = self.problem.size - len(node.inside)
        best = node.rows[np.argsort(-choice[node.rows], kind="stable")[:left]]
        chosen = [*node.inside, *(int(j) for j in best)]
        if self.problem.limits.allow(tuple(chosen)):
            before = int(self.problem.incumbents.costs[0])
            self.problem.offer(chosen)
            if not node.inside or self.problem.incumbents.costs[0] < before:
                exchange(self.problem, chosen)
        node.closed = node.bound > self.problem.worth


def bound_of(problem: Problem, node: Node, dual: Dual) -> int:
    """Return the exact bound of a box, where the best choice ignores providers."""
    field = problem.field
    least = np.full(problem.points, problem.worst, np.int64)
    for j in node.inside:
        lower(field.values, j, least, least)
    levels = np.empty(problem.points, np.int64)
    sure = capped(field.weights, dual.levels, least, field.shift, levels)
    saved = gains(field.values, field.weights, levels, node.rows, field.shift)
    saved = np.sort(saved + dual.offset[node.rows])[::-1]
    inside = int(dual.offset[list(node.inside)].sum())
    left = problem.size - len(node.inside)
    return int(sure) + dual.start - inside - int(saved[:left].sum())


def _silent_solver() -> Any:
    highs: Any = highspy.Highs
    solver = highs()
    options = (("output_flag", False), ("threads", 1), ("presolve", "off"), ("solver", "simplex"))
    for name, value in options:
        solver.setOptionValue(name, value)
    return solver
