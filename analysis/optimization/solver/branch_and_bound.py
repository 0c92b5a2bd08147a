"""Best-first branch and bound over boxes of sets.

A box is closed by its lower bound or by exhaustive search; otherwise one region divides it in two.
The best sets are the incumbents of the problem when all boxes are closed.
"""

import heapq
import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from analysis.optimization.solver.block_kernels import settle
from analysis.optimization.solver.branching.pseudo_costs import PseudoCosts
from analysis.optimization.solver.branching.strong_branching import StrongBranching
from analysis.optimization.solver.certificate import ProofLog
from analysis.optimization.solver.lagrangian_bound import (
    MANY_POINTS,
    Ascent,
    Branch,
    Effort,
    Node,
    outside_of,
)
from analysis.optimization.solver.large_ascent import LargeAscent
from analysis.optimization.solver.local_search import exchange, start
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import Dual, as_ints, explore

ROOT_STEPS = 600
ROOT_LENGTH = 1.0
# Time limit of the root bound without a search.
ROOT_SECONDS = 5.0
SEEDED_STEPS = 120
SEEDED_LENGTH = 0.5
NODE_STEPS = 60
NODE_LENGTH = 0.8
# Steps on many points are expensive. They begin long and shrink to a share of the first: what a
# branch changes is far from the levels before, and a bound is as good as the last steps are small.
LARGE_ROOT_STEPS_PER_REGION = 15
LARGE_ROOT_LENGTH, LARGE_ROOT_END = 2.0, 0.026
LARGE_NODE_STEPS = 60
LARGE_NODE_LENGTH, LARGE_NODE_END = 3.6, 0.0067
LARGE_MOMENTUM = 0.7
# Budget of a search, as a multiple of the free regions, before the box is divided instead.
SEARCH_FACTOR = 20
# In a problem of many points, boxes of more free regions have a smaller budget.
LARGE_SEARCH_ROWS = 60
LARGE_SEARCH_FACTOR = 3
# Above this gap, as a share of the cut-off, they are divided at once.
LARGE_SEARCH_GAP = 0.0005
# Up to this many cells, exhaustive search from rough duals is faster than subgradient steps first.
PLAIN_CELLS = 20_000_000


class Bounder(Protocol):
    """A method that improves the multipliers of a box."""

    def improve(self, node: Node, until: float) -> None:
        """Raise the bound of a box, and offer the sets found."""


@dataclass(frozen=True)
class Outcome:
    """The result of a search: lower bound, whether it is proven optimal, and nodes evaluated."""

    bound: int
    proven: bool
    nodes: int


class Tree:
    """Best-first search over boxes."""

    def __init__(
        self,
        problem: Problem,
        until: float,
        bounder: Bounder | None = None,
        *,
        first: bool = False,
        plain_cells: int = PLAIN_CELLS,
        seed: Node | None = None,
    ) -> None:
        self.problem, self.until, self.bounder = problem, until, bounder
        self.plain_cells, self.seed = plain_cells, seed
        self.root: Node | None = None
        # Stop at the first set that is good enough.
        self.first = first
        self.proof_log = ProofLog()
        self.open: list[tuple[int, int, Node]] = []
        self.nodes = self.pushed = 0
        self.pseudo_costs = PseudoCosts(problem.field.values.shape[0])
        self.strong_branching: StrongBranching | None = None

    def run(self) -> Outcome:
        """Search until every box is closed or the time limit is reached."""
        problem = self.problem
        if not problem.found and not start(problem):
            return Outcome(int(problem.incumbents.costs[-1]), True, 0)
        if self._search_plainly():
            return Outcome(int(problem.incumbents.costs[-1]), True, 1)
        self._push(self._first_node())
        while self.open and not self._is_over():
            bound, _, node = heapq.heappop(self.open)
            if bound > problem.worth:
                self._close(node)
            else:
                self._work(node)
        return self._conclude()

    def run_root(self, seconds: float = ROOT_SECONDS) -> None:
        """Process the root box only, with its own time limit."""
        if self.problem.found or start(self.problem):
            self.until = time.monotonic() + seconds
            self._work(
                Node(self.problem.limits.inside, self.problem.free, rough_dual(self.problem))
            )

    def _first_node(self) -> Node:
        problem, seed = self.problem, self.seed
        if seed is None:
            return Node(problem.limits.inside, problem.free, rough_dual(problem))
        return Node(problem.limits.inside, problem.free, seed.dual, seed.side, 0, seed.frequency)

    def _is_over(self) -> bool:
        return time.monotonic() > self.until or (self.first and self.problem.found)

    def _search_plainly(self) -> bool:
        """Search the root exhaustively if it has at most ``plain_cells`` cells."""
        problem = self.problem
        left = problem.size - len(problem.limits.inside)
        sets = sets_of(problem.free.size, left)
        if sets * problem.points > self.plain_cells:
            return False
        node = self._first_node()
        self._search(node, 2**60)
        self._close(node)
        return True

    def _work(self, node: Node) -> None:
        self.nodes += 1
        root = self.nodes == 1
        left = self.problem.size - len(node.inside)
        if left > 0 and node.rows.size >= left:
            before = node.bound
            self._improve_bound(node, self._effort(root=root), root)
            if node.branch is not None:
                gain = min(node.bound, self.problem.worth) - before
                self.pseudo_costs.observe(node.branch, max(gain, 0))
        if root:
            self.root = replace(node)
        if node.closed or self._search_within_budget(node):
            self._close(node)
        else:
            self._divide(node)

    def _effort(self, *, root: bool) -> Effort:
        """Return the number of steps of a box, their lengths and time limit."""
        is_seeded = self.seed is not None
        if self.problem.points < MANY_POINTS or (root and not is_seeded):
            steps, length = NODE_STEPS, NODE_LENGTH
            if root:
                seeded, plain = (SEEDED_STEPS, SEEDED_LENGTH), (ROOT_STEPS, ROOT_LENGTH)
                steps, length = seeded if is_seeded else plain
            return Effort(steps, length, self.until)
        return large_effort(self.problem.size, self.until, root=root)

    def _improve_bound(self, node: Node, effort: Effort, root: bool) -> None:
        kind = LargeAscent if self.problem.points >= MANY_POINTS else Ascent
        kind(self.problem, node, self.proof_log, effort).run()
        if root and self.problem.found and not node.closed:
            exchange(self.problem, list(self.problem.best))
        if self.bounder is not None and not node.closed:
            self.bounder.improve(node, self.until)

    def _search_within_budget(self, node: Node) -> bool:
        problem = self.problem
        is_large = problem.points >= MANY_POINTS
        is_wide = not node.inside or node.rows.size > LARGE_SEARCH_ROWS
        factor = LARGE_SEARCH_FACTOR if is_large and is_wide else SEARCH_FACTOR
        budget = factor * max(node.rows.size, 20)
        is_far = problem.worth - node.bound > LARGE_SEARCH_GAP * problem.worth
        if is_large and node.rows.size > LARGE_SEARCH_ROWS and is_far:
            return False
        # Points without an answer are excluded by set, so that none of them is settled before.
        if is_large and not is_wide and node.rows.size and problem.field.lost < 0:
            return self._search_open_points(node, budget)
        return self._search(node, budget)

    def _search(self, node: Node, budget: int) -> bool:
        box = (as_ints(node.inside), node.rows)
        problem = self.problem
        return bool(
            explore(problem.field, problem.rules, node.dual, box, problem.incumbents, budget)
        )

    def _search_open_points(self, node: Node, budget: int) -> bool:
        """Search a box without the points that no free region serves better than the fixed ones.

        Their cost is the same for all sets of the box, and becomes the weight of a single point.
        """
        problem, field = self.problem, self.problem.field
        box, dual = (as_ints(node.inside), node.rows), node.dual
        values, weights, levels = settle(field.values, field.weights, dual.levels, box, field.shift)
        small = field._replace(values=values, weights=weights, exact=values)
        dual = dual._replace(levels=levels)
        return bool(explore(small, problem.rules, dual, box, problem.incumbents, budget))

    def _divide(self, node: Node) -> None:
        place = self._pivot_place(node)
        pivot, rest = int(node.rows[place]), np.delete(node.rows, place)
        share = 0.5 if node.frequency is None else float(node.frequency[pivot])
        for inside in ((*node.inside, pivot), node.inside):
            branch = Branch(pivot, len(inside) > len(node.inside), share)
            child = Node(inside, rest, node.dual, node.side, node.bound, node.frequency, branch)
            child.sample = node.sample
            self._push(child)

    def _pivot_place(self, node: Node) -> int:
        """Return the free region with the largest expected gain of both its boxes."""
        if node.frequency is None:
            return 0
        scores = self.pseudo_costs.scores(node.rows, node.frequency[node.rows])
        if self.problem.points < MANY_POINTS:
            return int(np.argmax(scores))
        branching, seen = self._branching(node)
        return branching.best_place(seen, scores)

    def _branching(self, node: Node) -> tuple[StrongBranching, Node]:
        """Return the estimates of branches, and the box as one of their problem."""
        if self.strong_branching is None:
            self.strong_branching = StrongBranching(self.problem, self.until)
        return self.strong_branching, node

    def _push(self, node: Node) -> None:
        # The number keeps boxes of equal bounds in the order of their creation.
        self.pushed += 1
        heapq.heappush(self.open, (node.bound, self.pushed, node))

    def _close(self, node: Node) -> None:
        number = self.proof_log.add_multipliers(node.dual.levels, node.side)
        inside = frozenset(node.inside)
        self.proof_log.add_box(inside, outside_of(self.problem, node), inside, number)

    def _conclude(self) -> Outcome:
        bound = int(self.problem.incumbents.costs[-1])
        for fine, _, node in self.open:
            self._close(node)
            bound = min(bound, max(-(-fine >> self.problem.field.shift), 0))
        return Outcome(bound, not self.open, self.nodes)


def rough_dual(problem: Problem) -> Dual:
    """Return dual levels halfway between the costs of the best and second-best chosen region."""
    first, second, _ = problem.nearest(problem.best)
    levels = ((first + second) // 2) << problem.field.shift
    return Dual(levels, 0, np.zeros(problem.field.values.shape[0], np.int64))


def large_effort(size: int, until: float, *, root: bool) -> Effort:
    """Return steps on many points, of which the last has a small share of the first length."""
    steps, length, end = LARGE_NODE_STEPS, LARGE_NODE_LENGTH, LARGE_NODE_END
    if root:
        steps, length, end = LARGE_ROOT_STEPS_PER_REGION * size, LARGE_ROOT_LENGTH, LARGE_ROOT_END
    return Effort(steps, length, until, end ** (1 / steps), LARGE_MOMENTUM)


def sets_of(regions: int, chosen: int) -> int:
    """Return the binomial coefficient, at most 2**60."""
    total = 1
    for a in range(chosen):
        total = total * (regions - a) // (a + 1)
        if total > 2**60:
            return 2**60
    return total
