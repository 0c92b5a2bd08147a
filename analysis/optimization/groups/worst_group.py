"""Minimise the largest group mean: local search, then best-first branch and bound over boxes.

A box is closed by its bound, or by listing its sets; otherwise one region divides it in two.
"""

import heapq
import time
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

import numpy as np

from analysis.optimization.groups.dual_ascent import Box, Floats, State, ascend, bound_by
from analysis.optimization.groups.exchanges import exchange_groups, first_set
from analysis.optimization.groups.feasible_rows import find_feasible_rows
from analysis.optimization.groups.group_costs import GroupCosts
from analysis.optimization.groups.group_kernels import lift
from analysis.optimization.groups.listings import Lister
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Ints, Matrix
from analysis.optimization.solver.certificate import GroupBox, GroupMultipliers, GroupProof
from analysis.optimization.solver.mean import Aim, Solution
from analysis.optimization.solver.search_kernels import as_ints

# No set is better than the answer by more than this share: bounds are of rounded numbers.
TOLERANCE = 1e-8
# Rounding of a bound is below this share of what is summed.
MARGIN = 1e-10
ROOT_STEPS = 400
NODE_STEPS = 60
# Up to so many sets, a box is listed without a bound, with one, and if it is the root.
FEW_SETS = 20_000
MANY_SETS = 2_000_000
MOST_SETS = 200_000_000
# Branch on the region that is chosen with about this frequency.
EVEN_SHARE = 0.45
# Numbers that a proof stores at most; beyond, it is not kept.
MAX_PROOF_CELLS = 2**27


@dataclass(eq=False)
class Node:
    """Fixed and free regions, the multipliers to start from, and the bound so far."""

    inside: tuple[int, ...]
    rows: Ints
    start: GroupMultipliers
    frequency: Floats
    bound: float = 0.0
    depth: int = 0


@dataclass(eq=False)
class GroupTree:
    """The search for the set with the smallest largest group mean."""

    costs: GroupCosts
    limits: Limits
    size: int
    until: float
    known: dict[tuple[int, ...], Fraction] = field(default_factory=dict)
    boxes: list[GroupBox] = field(default_factory=list)
    multipliers: list[GroupMultipliers] = field(default_factory=list)
    open: list[tuple[float, int, Node]] = field(default_factory=list)
    nodes: int = 0
    pushed: int = 0
    cells: int = 0

    def __post_init__(self) -> None:
        costs = self.costs
        self.points = costs.compiled()
        # The weight of each point in the mean of its group.
        self.relevance = costs.weights / costs.totals[costs.owners]
        self.caps = np.full(costs.totals.size, 2**62, np.int64)

    @property
    def best(self) -> tuple[int, ...]:
        """The best set so far."""
        return min(self.known, key=lambda chosen: (self.known[chosen], chosen))

    @property
    def target(self) -> float:
        """The bound above which a box has no better set."""
        return float(self.known[self.best]) * (1 - TOLERANCE)

    def offer(self, chosen: tuple[int, ...]) -> None:
        """Store a set that the constraints allow, and lower the caps to below its cost."""
        members = tuple(sorted(int(j) for j in chosen))
        if members not in self.known and self.limits.allow(members):
            self.known[members] = self.costs.exact(members)
            self.caps[:] = np.minimum(self.caps, self.costs.caps(self.known[members]))

    def run(self) -> None:
        """Search until every box is closed or the time limit is reached."""
        first = first_set(self.costs, self.limits, self.size)
        if first is None:
            return
        self.offer(first)
        for members in exchange_groups(self.costs, self.limits, first):
            self.offer(members)
        means = np.array([float(mean) for mean in self.costs.means(self.best)])
        self.points.turns[:] = np.argsort(-means, kind="stable")
        self._push(self._root())
        while self.open and time.monotonic() < self.until:
            self.nodes += 1
            self._work(heapq.heappop(self.open)[2])

    def proof(self) -> GroupProof | None:
        """Return the certificate; None where it would be too large, or boxes are open."""
        if self.open or self.cells > MAX_PROOF_CELLS or not self.known:
            return None
        return GroupProof(
            self.size,
            self.target,
            tuple(self.boxes),
            tuple(self.multipliers),
            self.costs.is_robust,
        )

    def lower_bound(self) -> Fraction:
        """Return what no allowed set is below, in units of cost."""
        best = self.known[self.best]
        found = min((max(node.bound, 0.0) for _, _, node in self.open), default=float(best))
        return min(Fraction(found), best)

    def _root(self) -> Node:
        costs, best = self.costs, list(self.best)
        nearest = np.sort(costs.values[best], axis=0)[:2].astype(np.float32)
        means = np.array([float(mean) for mean in costs.means(best)])
        shares = np.exp(8 * (means - means.max()) / max(means.max(), 1e-9))
        start = GroupMultipliers(nearest.mean(axis=0)[None], (shares / shares.sum())[None])
        held = {*self.limits.inside, *self.limits.outside}
        rows = as_ints([j for j in range(len(costs.values)) if j not in held])
        return self._child(self.limits.inside, rows, start)

    def _work(self, node: Node) -> None:
        rows = find_feasible_rows(self.limits, node.inside, node.rows, self.size)
        left = self.size - len(node.inside)
        if rows is None or left == 0:
            if left == 0:
                self.offer(node.inside)
            self._close(node, None)
            return
        if self._list(node, rows, FEW_SETS) or self._raise_bound(node, rows, left):
            return
        rows = rows[np.isin(rows, node.rows)]
        if not self._list(node, rows, MANY_SETS if node.depth else MOST_SETS):
            self._divide(node, rows)

    def _raise_bound(self, node: Node, rows: Ints, left: int) -> bool:
        """Improve the multipliers of a box; return whether its bound closes it."""
        lifted = self._lift(node, rows)
        if lifted is None:
            self._close(node, None)
            return True
        values, ceiling = lifted
        levels = np.minimum(node.start.levels, ceiling).astype(np.float32)
        shares = node.start.shares
        state = State(levels, shares.copy(), levels.copy(), shares.copy(), node.frequency)
        box = Box(
            values.astype(np.float32),
            self.relevance.astype(np.float32),
            self.costs.starts,
            ceiling.astype(np.float32),
            rows,
            left,
            self._skipped(node),
        )
        ascend(box, state, self.target, NODE_STEPS if node.inside else ROOT_STEPS)
        found = GroupMultipliers(state.best_levels, state.best_shares)
        node.start = found
        return self._conclude(node, box, (values, ceiling), found)

    def _conclude(
        self, node: Node, box: Box, lifted: tuple[Matrix, Matrix], found: GroupMultipliers
    ) -> bool:
        """Close a box if its bound allows; else leave out regions that no better set has."""
        values, ceiling = lifted
        levels = np.minimum(found.levels.astype(np.float64), ceiling)
        sure, saved = bound_by(values, self.relevance, self.costs.starts, levels, found.shares)
        order = np.argsort(-saved, kind="stable")
        bound = sure * (1 - MARGIN) - float(saved[order[box.skipped : box.left]].sum())
        node.bound = max(node.bound, bound)
        if bound > self.target:
            self._close(node, self._store(found))
            return True
        self._try(node.inside, box.rows[order[: box.left]])
        # A region that replaces the last of the choice, and is above the target, is in no set.
        forced = bound + saved[order[box.left - 1]] - saved
        is_gone = forced > self.target
        is_gone[order[: box.left]] = False
        self._exclude(node, box.rows[is_gone], found)
        return False

    def _lift(self, node: Node, rows: Ints) -> tuple[Matrix, Matrix] | None:
        """Return lifted costs of the free rows, and what the fixed regions cost in each copy;
        None if a group is above its cap at best."""
        every = as_ints([*rows, *node.inside])
        floor = self.costs.values[every].min(axis=0)
        lifted = np.empty((every.size, self.costs.points), np.int32)
        if not lift(self.points, self.caps, floor, every, lifted):
            return None
        fixed, worst = lifted[rows.size :], lifted.max(axis=0)
        kept = [np.arange(len(fixed))]
        if self.costs.is_robust and len(fixed):
            kept = [np.delete(kept[0], lost) for lost in range(len(fixed))]
        ceiling = [fixed[some].min(axis=0) if some.size else worst for some in kept]
        return lifted[: rows.size], np.stack(ceiling)

    def _try(self, inside: tuple[int, ...], rows: Ints) -> None:
        members = (*inside, *map(int, rows))
        if not inside and self.limits.allow(members):
            for chosen in exchange_groups(self.costs, self.limits, members):
                self.offer(chosen)

    def _skipped(self, node: Node) -> int:
        """Of a set without fixed regions, the loss of the region that saves most is a bound."""
        return int(self.costs.is_robust and not node.inside)

    def _list(self, node: Node, rows: Ints, most: int) -> bool:
        """Look at all sets of a box if there are few; return whether that was done in time."""
        lister = Lister(self.costs, self.points, self.limits, self.size, self.caps)
        if lister.count(node.inside, rows) > most:
            return False
        done = lister.run(node.inside, rows, self.until, self.offer)
        if done:
            self._close(node, None)
        return done

    def _divide(self, node: Node, rows: Ints) -> None:
        place = int(np.argmin(np.abs(node.frequency[rows] - EVEN_SHARE)))
        pivot, rest = int(rows[place]), np.delete(rows, place)
        # Regions that are no longer feasible are outside of both halves, and of this box's sets.
        for inside in ((*node.inside, pivot), node.inside):
            kept = np.append(node.rows[~np.isin(node.rows, rows)], rest)
            child = self._child(inside, kept, node.start)
            child.frequency, child.bound = node.frequency.copy(), node.bound
            child.depth = node.depth + 1
            self._push(child)

    def _child(self, inside: tuple[int, ...], rows: Ints, start: GroupMultipliers) -> Node:
        """Return a box with the multipliers of the previous box as initial values."""
        frequency = np.zeros(len(self.costs.values))
        copies = max(len(inside), 1) if self.costs.is_robust else 1
        lacking = copies - len(start.levels)
        if lacking > 0:
            levels = np.concatenate([start.levels, np.repeat(start.levels[:1], lacking, axis=0)])
            mean = start.shares.mean(axis=0, keepdims=True)
            shares = np.concatenate([start.shares, np.repeat(mean, lacking, axis=0)])
            start = GroupMultipliers(levels, shares / shares.sum())
        return Node(inside, rows, start, frequency)

    def _push(self, node: Node) -> None:
        # The number keeps boxes of equal bounds in the order of their creation.
        self.pushed += 1
        heapq.heappush(self.open, (node.bound, self.pushed, node))

    def _outside(self, node: Node) -> frozenset[int]:
        return frozenset(range(len(self.costs.values))) - {*node.inside, *map(int, node.rows)}

    def _close(self, node: Node, number: int | None) -> None:
        self.boxes.append(
            GroupBox(frozenset(node.inside), self._outside(node), node.inside, number)
        )

    def _store(self, found: GroupMultipliers) -> int:
        self.cells += found.levels.size
        if self.cells <= MAX_PROOF_CELLS:
            self.multipliers.append(found)
        return len(self.multipliers) - 1

    def _exclude(self, node: Node, gone: Ints, found: GroupMultipliers) -> None:
        """Close a box per excluded region, and leave these regions out from here on."""
        if not gone.size:
            return
        number, outside = self._store(found), self._outside(node)
        for j in map(int, gone):
            inside = frozenset(node.inside) | {j}
            self.boxes.append(GroupBox(inside, outside, node.inside, number))
            outside |= {j}
        node.rows = node.rows[~np.isin(node.rows, gone)]


def solve_worst_group(costs: GroupCosts, limits: Limits, size: int, aim: Aim) -> Solution:
    """Return the sets of least largest group mean, the best proven; none if infeasible."""
    tree = GroupTree(costs, limits, size, aim.until)
    tree.run()
    if not tree.known:
        return Solution((), Fraction(0), True, 0, 0, None)
    ranked = sorted(tree.known.items(), key=lambda item: (item[1], item[0]))
    if aim.within:
        ranked = [item for item in ranked if item[1] <= ranked[0][1] * (1 + Fraction(aim.within))]
    proven = not tree.open
    sets = tuple(islice(ranked, aim.places))
    bound = sets[0][1] if proven else tree.lower_bound()
    return Solution(sets, bound, proven, int(proven), tree.nodes, tree.proof())
