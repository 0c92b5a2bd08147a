"""A problem goes in; the sets whose worst single loss leaves the least mean come out, by branching.

What remains of a set when one region is lost is a set with one region less: its bounds are those
of the plain problem without the lost region, which is one that the box has inside.
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
from analysis.optimization.solver.certificate import Box, Ledger
from analysis.optimization.solver.problem import Problem, rules_of
from analysis.optimization.solver.search_kernels import (
    NOTHING_HEARD,
    as_ints,
    explore,
    loss_cost,
)
from analysis.optimization.solver.subgradient import Ascent, Effort, Node


class Whole(Problem):
    """The problem itself: a set costs what remains after its worst loss."""

    def cost(self, chosen: Any) -> int:
        """Weigh a set after its worst loss."""
        return int(loss_cost(self.field, as_ints(chosen), NOTHING_HEARD))


class Rest(Problem):
    """What remains when one region is lost: one region less, and a podium that is the whole's."""

    whole: Whole
    lost: int | None = None

    def offer(self, chosen: Any) -> None:
        """Offer the remaining set together with the lost region."""
        if self.lost is not None:
            self.whole.offer([*chosen, self.lost])


class Losses:
    """Best-first search over boxes, each seen through the loss of one region inside."""

    def __init__(self, whole: Whole, until: float) -> None:
        self.whole, self.until = whole, until
        self.ledger = Ledger()
        self.boxes: list[Box] = []
        self.open: list[tuple[int, int, Node]] = []
        self.nodes = 0

    def run(self) -> None:
        """Search until every box is closed or time is up."""
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
        """Write down what is open; give the bound that holds, and whether all is closed."""
        bound = int(self.whole.podium.costs[-1])
        for fine, _, node in self.open:
            self._close(node)
            bound = min(bound, max(-(-fine >> self.whole.field.shift), 0))
        return bound, not self.open

    def _work(self, node: Node) -> None:
        lost = self._worst_loss(node.inside)
        rest = self._rest(lost)
        inside = tuple(j for j in node.inside if j != lost)
        inner = Node(inside, node.rows, node.dual, node.side, 0, node.often)
        left = rest.size - len(inside)
        ledger = Ledger(multipliers=self.ledger.multipliers)
        if 0 < left <= inner.rows.size:
            steps, length = (NODE_STEPS, NODE_LENGTH)
            if len(node.inside) < 2:
                steps, length = ROOT_STEPS // 4, ROOT_LENGTH
            Ascent(rest, inner, ledger, Effort(steps, length, self.until)).run()
            if lost is not None:
                self._adopt(ledger, lost)
            else:
                inner.rows = node.rows
        node.rows, node.dual, node.side, node.often = (
            inner.rows,
            inner.dual,
            inner.side,
            inner.often,
        )
        node.bound = max(node.bound, inner.bound)
        if inner.closed or (lost is not None and self._search(rest, inner)):
            self._close(node)
        elif node.rows.size + len(node.inside) >= self.whole.size:
            self._divide(node)
        else:
            self._close(node)

    def _search(self, rest: Rest, inner: Node) -> bool:
        budget = SEARCH_FACTOR * max(inner.rows.size, 20) * 4
        box = (as_ints(inner.inside), inner.rows)
        podium = self.whole.podium
        return bool(explore(rest.field, rest.rules, inner.dual, box, podium, budget))

    def _worst_loss(self, inside: tuple[int, ...]) -> int | None:
        """Give the region inside whose loss costs most, as far as is known yet."""
        if not inside:
            return None
        first, second, who = self.whole.nearest(inside)
        weights = self.whole.field.weights
        lost = np.bincount(who, weights * (second - first), minlength=len(inside))
        return inside[int(np.argmax(lost))]

    def _rest(self, lost: int | None) -> Rest:
        whole = self.whole
        limits = without(whole.limits, lost)
        field = whole.field._replace(also=-1 if lost is None else lost)
        rest = Rest(field, limits, whole.size - 1, 1)
        rest.whole, rest.lost = whole, lost
        rest.podium, rest.guide = whole.podium, whole.guide
        rest.rules = rules_of(limits, whole.field.values.shape[0])
        return rest

    def _adopt(self, ledger: Ledger, lost: int) -> None:
        """Take over boxes of what remains as boxes of the whole."""
        for box in ledger.boxes:
            outside = box.outside - {lost}
            self.boxes.append(Box(box.inside | {lost}, outside, box.base, box.multipliers, lost))

    def _divide(self, node: Node) -> None:
        often = np.zeros(node.rows.size) if node.often is None else node.often[node.rows]
        # Without a region inside there is no loss to see, so that the surest goes in first.
        place = int(np.argmax(often) if not node.inside else np.argmin(np.abs(often - 0.5)))
        pivot, rows = int(node.rows[place]), np.delete(node.rows, place)
        for inside in ((*node.inside, pivot), node.inside):
            self._push(Node(inside, rows, node.dual, node.side, node.bound, node.often))

    def _push(self, node: Node) -> None:
        heapq.heappush(self.open, (node.bound, self.nodes * 2 + len(node.inside) % 2, node))

    def _close(self, node: Node) -> None:
        number = self.ledger.keep(node.dual.levels, node.side)
        lost = self._worst_loss(node.inside)
        inside = frozenset(node.inside)
        everyone = frozenset(range(self.whole.field.values.shape[0]))
        outside = everyone - inside - {int(j) for j in node.rows}
        self.boxes.append(Box(inside, outside, inside - {lost}, number, lost))


def without(limits: Limits, lost: int | None) -> Limits:
    """Give the limits that hold for what remains of an allowed set."""
    if lost is None:
        needs = tuple(max(need - 1, 0) for need in limits.needs)
        return replace(limits, needs=needs)
    room = list(limits.room)
    room[limits.provider[lost]] -= 1
    needs = tuple(
        max(need - (lost in group), 0)
        for need, group in zip(limits.needs, limits.groups, strict=True)
    )
    return replace(
        limits,
        inside=tuple(j for j in limits.inside if j != lost),
        room=tuple(room),
        purse=limits.purse - limits.price[lost],
        needs=needs,
    )
