"""Branch and bound of a problem of many points, guided by a sample of them.

Each box is bounded on the sample first. The recorded steps then give levels of all points, from
which the exact bound and the exclusions of the box are computed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.costs import Costs
from analysis.optimization.solver.branch_and_bound import Tree, large_effort
from analysis.optimization.solver.branching.strong_branching import StrongBranching
from analysis.optimization.solver.certificate import Ints, ProofLog
from analysis.optimization.solver.constraint_duals import ConstraintDuals
from analysis.optimization.solver.lagrangian_bound import Ascent, Effort, Node, outside_of
from analysis.optimization.solver.large_ascent import LargeAscent
from analysis.optimization.solver.local_search import neighbours
from analysis.optimization.solver.problem import Problem, draw_by_weight, field_of
from analysis.optimization.solver.sampling.recorded_steps import (
    BoxCosts,
    Origin,
    StepLog,
    repeat_steps,
    steps_of,
)
from analysis.optimization.solver.sampling.streamed_problem import StreamedProblem
from analysis.optimization.solver.search_kernels import Dual, as_ints
from analysis.optimization.solver.warm_start import Seed, seed_by_sample

# Draws in proportion to the weights of the points.
DRAWS = 200_000
# A box is closed on the sample only above the cut-off and this share of it, because the bound of
# all points may be a little lower.
MARGIN = 2e-4
# The best sets of the sample that are evaluated on all points at first.
TRIED_SETS = 10


class SampleProblem(Problem):
    """The problem of the sample; its incumbent is that of all points, once one is adopted."""

    met: list[Any] | None = None

    def adopt(self, best: tuple[int, ...]) -> None:
        """Use a set as the incumbent, its cost and a margin as the cut-off."""
        cost = self.cost(best)
        self.incumbents.costs[:] = cost + int(cost * MARGIN) + 1
        self.incumbents.sets[:] = as_ints(sorted(best))
        self.met = []

    def offer(self, chosen: Any) -> None:
        """Record a set, or collect it to be evaluated on all points."""
        if self.met is None:
            super().offer(chosen)
        else:
            self.met.append(chosen)


class RepeatedAscent(Ascent):
    """The bound of one box from given levels of all points."""

    # Levels of millions of points are most of the memory of a search.
    least_excluded = 5

    def __init__(
        self,
        problem: Problem,
        node: Node,
        proof_log: ProofLog,
        levels: Ints,
        rates: NDArray[np.float64] | None,
    ) -> None:
        self.problem, self.node, self.proof_log, self.levels = problem, node, proof_log, levels
        self.left = problem.size - len(node.inside)
        self.exclusion_interval = 1
        self.constraint_duals = ConstraintDuals(problem.rules, node.inside, rates)

    def run(self) -> None:
        """Compute the exact bound, and exclude regions by it."""
        problem, node, duals = self.problem, self.node, self.constraint_duals
        saved = problem.savings(self.levels, node.rows) + duals.offset[node.rows]
        top = self._choose(saved)
        node.bound = self._bound(saved, top)
        node.side, node.dual = duals.rates, Dual(self.levels, duals.start, duals.offset)
        if node.bound <= problem.worth:
            problem.offer([*node.inside, *node.rows[top]])
            self._exclude(saved, top, node.bound, 0)
        node.closed = node.bound > problem.worth

    def _log_multipliers(self) -> int:
        return self.proof_log.share_multipliers(self.levels, self.constraint_duals.rates)


class SampledTree(Tree):
    """Best-first search over boxes that are bounded on a sample, and then on all points.

    Every box is closed by its bound, or holds one set.
    """

    def __init__(
        self, problem: StreamedProblem, sample: SampleProblem, seed: Seed, until: float
    ) -> None:
        super().__init__(problem, until, plain_cells=0, seed=seed.node)
        self.sample, self.start, self.units = sample, seed, problem.units
        self.coarse = sample.rough.shift
        # Rates of side constraints grow with the sum of the weights.
        self.ratio = float(problem.field.weights.sum() / sample.field.weights.sum())
        self.adopted: tuple[int, ...] = ()
        for tried in (sample.best, *neighbours(sample, sample.best, TRIED_SETS)):
            problem.offer(tried)

    def _first_node(self) -> Node:
        seed, none = self.start, np.empty(0, np.int32)
        free = Node(self.problem.limits.inside, seed.rows, seed.node.dual)
        levels = self._repeat(Origin(none, seed.share), free, seed.log)
        dual = seed.node.dual
        return replace(super()._first_node(), dual=dual._replace(levels=levels), sample=dual)

    def _repeat(self, origin: Origin, node: Node, log: StepLog) -> Ints:
        """Return levels of all points, (n_points,) int32, after the recorded steps of a box."""
        field, lows = self.problem.field, self.problem.lows
        box = BoxCosts(as_ints(node.inside), node.rows, lows, self.problem.worst)
        shifts = (field.shift, self.coarse)
        return repeat_steps(field.values, self.units, origin, box, steps_of(log), shifts)

    def _effort(self, *, root: bool) -> Effort:
        return large_effort(self.problem.size, self.until, root=root)

    def _work(self, node: Node) -> None:
        left = self.problem.size - len(node.inside)
        if left == 1 and node.rows.size:
            self._bound_by_prices(node)
        if left == 0:
            self.problem.offer(node.inside)
        if left == 0 or node.closed or node.rows.size < left:
            self.nodes += 1
            self._close(node)
        else:
            super()._work(node)

    def _bound_by_prices(self, node: Node) -> None:
        """Bound a box of one free choice by the exact costs of its sets."""
        fixed = replace(node, rows=node.rows[:0])
        none = StepLog(as_ints(self.problem.best))
        levels = self._repeat(Origin(node.dual.levels, -1.0), fixed, none)
        RepeatedAscent(self.problem, node, self.proof_log, levels, None).run()

    def _improve_bound(self, node: Node, effort: Effort, root: bool) -> None:
        problem, sample = self.problem, self.sample
        if problem.best != self.adopted:
            self.adopted = problem.best
            sample.adopt(problem.best)
        small = self._on_sample(node)
        ascent = LargeAscent(sample, small, ProofLog(), effort)
        ascent.run()
        levels = self._repeat(Origin(node.dual.levels, -1.0), node, ascent.log)
        rates = ascent.constraint_duals.rates * self.ratio
        RepeatedAscent(problem, node, self.proof_log, levels, rates).run()
        node.sample, node.frequency = small.dual, small.frequency
        for chosen in sample.met or ():
            problem.offer(chosen)
        sample.met = []
        node.closed = node.bound > problem.worth

    def _on_sample(self, node: Node) -> Node:
        """Return a box as one of the sample."""
        side = None if node.side is None else node.side / self.ratio
        return Node(node.inside, node.rows, node.sample or node.dual, side, 0, node.frequency)

    def _search_within_budget(self, node: Node) -> bool:
        return False

    def _branching(self, node: Node) -> tuple[StrongBranching, Node]:
        if self.strong_branching is None:
            self.strong_branching = StrongBranching(self.sample, self.until)
        return self.strong_branching, self._on_sample(node)

    def _close(self, node: Node) -> None:
        number = self.proof_log.share_multipliers(node.dual.levels, node.side)
        inside = frozenset(node.inside)
        self.proof_log.add_box(inside, outside_of(self.problem, node), inside, number)


def sampled_tree(costs: Costs, problem: StreamedProblem, until: float) -> SampledTree | None:
    """Return the search of a problem by a sample of its points; None where no set is found."""
    places, counts = draw_by_weight(costs.weights, DRAWS)
    matrix = costs.matrix[:, places]
    few = replace(costs, matrix=matrix, weights=counts, counted=np.ones((counts.size, 1), bool))
    # Levels have the same unit in both problems.
    field = field_of(matrix, counts)._replace(shift=problem.field.shift)
    sample = SampleProblem(field, problem.limits, problem.size, 1)
    seed = seed_by_sample(few, sample, until)
    return None if seed is None else SampledTree(problem, sample, seed, until)
