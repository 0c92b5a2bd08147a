"""Branch and bound for the robust problem.

The remainder after a loss is a set with one region less; its lower bounds are those of the problem
without losses and without the lost region, which is one of the regions fixed in the box.
"""

import heapq
import time
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.solver.branch_and_bound import (
    NODE_LENGTH,
    NODE_STEPS,
    ROOT_LENGTH,
    ROOT_STEPS,
    SEARCH_FACTOR,
    rough_dual,
)
from analysis.optimization.solver.certificate import Box, ProofLog
from analysis.optimization.solver.lagrangian_bound import Ascent, Effort, Node
from analysis.optimization.solver.problem import Problem, rules_of
from analysis.optimization.solver.search_kernels import (
    NO_ANSWER_COST,
    as_ints,
    explore,
    loss_cost,
)


class RobustProblem(Problem):
    """The robust problem: a set costs what remains after its worst loss."""

    def cost(self, chosen: Any) -> int:
        """Return the cost of a set after its worst loss."""
        return int(loss_cost(self.field, as_ints(chosen), NO_ANSWER_COST))


class RemainderProblem(Problem):
    """The problem after a loss: one region less, with the incumbents of the robust problem."""

    whole: RobustProblem
    lost: int | None = None

    def offer(self, chosen: Any) -> None:
        """Offer a remainder together with the lost region."""
        if self.lost is not None:
            self.whole.offer([*chosen, self.lost])


class RobustTree:
    """Best-first search over boxes, each bounded through the loss of one of its regions."""

    def __init__(self, whole: RobustProblem, until: float) -> None:
        self.whole, self.until = whole, until
        self.proof_log = ProofLog()
        self.boxes: list[Box] = []
        self.open: list[tuple[int, int, Node]] = []
        self.nodes = 0

    def run(self) -> None:
        """Search until every box is closed or the time limit is reached."""
        whole = self.whole
        self._push(Node(whole.limits.inside, whole.free, rough_dual(whole)))
        while self.open and time.monotonic() < self.until:
            bound, _, node = heapq.heappop(self.open)
            self.nodes += 1
            if bound > whole.worth:
                self._close(node)
            else:
                self._work(node)

    def conclude(self) -> tuple[int, bool]:
        """Record the open boxes; return (lower bound, whether all were closed)."""
        bound = int(self.whole.incumbents.costs[-1])
        for fine, _, node in self.open:
            self._close(node)
            bound = min(bound, max(-(-fine >> self.whole.field.shift), 0))
        return bound, not self.open

    def _work(self, node: Node) -> None:
        lost = self._worst_loss(node.inside)
        rest = self._rest(lost)
        inside = tuple(j for j in node.inside if j != lost)
        inner = Node(inside, node.rows, node.dual, node.side, 0, node.frequency)
        left = rest.size - len(inside)
        proof_log = ProofLog(multipliers=self.proof_log.multipliers)
        if 0 < left <= inner.rows.size:
            steps, length = (NODE_STEPS, NODE_LENGTH)
            if len(node.inside) < 2:
                steps, length = ROOT_STEPS // 4, ROOT_LENGTH
            Ascent(rest, inner, proof_log, Effort(steps, length, self.until)).run()
            if lost is not None:
                self._adopt(proof_log, lost)
            else:
                inner.rows = node.rows
        node.rows, node.dual, node.side, node.frequency = (
            inner.rows,
            inner.dual,
            inner.side,
            inner.frequency,
        )
        node.bound = max(node.bound, inner.bound)
        if inner.closed or (lost is not None and self._search(rest, inner)):
            self._close(node)
        elif node.rows.size + len(node.inside) >= self.whole.size:
            self._divide(node)
        else:
            self._close(node)

    def _search(self, rest: RemainderProblem, inner: Node) -> bool:
        budget = SEARCH_FACTOR * max(inner.rows.size, 20) * 4
        box = (as_ints(inner.inside), inner.rows)
        incumbents = self.whole.incumbents
        return bool(explore(rest.field, rest.rules, inner.dual, box, incumbents, budget))

    def _worst_loss(self, inside: tuple[int, ...]) -> int | None:
        """Return the fixed region with the most expensive loss so far."""
        if not inside:
            return None
        first, second, who = self.whole.nearest(inside)
        weights = self.whole.field.weights
        lost = np.bincount(who, weights * (second - first), minlength=len(inside))
        return inside[int(np.argmax(lost))]

    def _rest(self, lost: int | None) -> RemainderProblem:
        whole = self.whole
        limits = without(whole.limits, lost)
        field = whole.field._replace(also=-1 if lost is None else lost)
        rest = RemainderProblem(field, limits, whole.size - 1, 1)
        rest.whole, rest.lost = whole, lost
        rest.incumbents, rest.guide = whole.incumbents, whole.guide
        rest.rules = rules_of(limits, whole.field.values.shape[0])
        return rest

    def _adopt(self, proof_log: ProofLog, lost: int) -> None:
        """Convert boxes of the remainder problem to boxes of the robust problem."""
        for box in proof_log.boxes:
            outside = box.outside - {lost}
            self.boxes.append(Box(box.inside | {lost}, outside, box.base, box.multipliers, lost))

    def _divide(self, node: Node) -> None:
        frequency = (
            np.zeros(node.rows.size) if node.frequency is None else node.frequency[node.rows]
        )
        # Without a fixed region there is no loss, so that the most frequent region is fixed first.
        place = int(np.argmax(frequency) if not node.inside else np.argmin(np.abs(frequency - 0.5)))
        pivot, rows = int(node.rows[place]), np.delete(node.rows, place)
        for inside in ((*node.inside, pivot), node.inside):
            self._push(Node(inside, rows, node.dual, node.side, node.bound, node.frequency))

    def _push(self, node: Node) -> None:
        heapq.heappush(self.open, (node.bound, self.nodes * 2 + len(node.inside) % 2, node))

    def _close(self, node: Node) -> None:
        number = self.proof_log.add_multipliers(node.dual.levels, node.side)
        lost = self._worst_loss(node.inside)
        inside = frozenset(node.inside)
        everyone = frozenset(range(self.whole.field.values.shape[0]))
        outside = everyone - inside - {int(j) for j in node.rows}
        self.boxes.append(Box(inside, outside, inside - {lost}, number, lost))


def without(limits: Limits, lost: int | None) -> Limits:
    """Return the limits of the remainder of an allowed set."""
    if lost is None:
        needs = tuple(max(need - 1, 0) for need in limits.needs)
        return replace(limits, needs=needs)
    capacity = list(limits.capacity)
    capacity[limits.provider[lost]] -= 1
    needs = tuple(
        max(need - (lost in group), 0)
        for need, group in zip(limits.needs, limits.groups, strict=True)
    )
    return replace(
        limits,
        inside=tuple(j for j in limits.inside if j != lost),
        capacity=tuple(capacity),
        budget=limits.budget - limits.price[lost],
        needs=needs,
    )
