"""Strong branching on a sample of the points (Applegate, Bixby, Chvátal and Cook 1995).

Both boxes of the best candidates are bounded by a few steps on some thousand points, which costs
little where a problem has many. The gains only choose the branch; no bound is taken from them.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints, ProofLog
from analysis.optimization.solver.lagrangian_bound import Ascent, Effort, Node
from analysis.optimization.solver.problem import Problem, draw_by_weight, field_of

# Points drawn in proportion to their weights; candidates per branch, and how many of them in
# succession may be worse than the best.
POINTS = 4000
CANDIDATES = 12
PATIENCE = 6
# Steps from the dual levels of the box to those of the sample, and from these to each child.
BASE_STEPS, CHILD_STEPS = 20, 24
LENGTH, DECAY, MOMENTUM = 2.0, 0.9, 0.7


class StrongBranching:
    """Gains of branches, estimated on one sample of the points of a problem."""

    def __init__(self, problem: Problem, until: float) -> None:
        field = problem.field
        self.places, counts = draw_by_weight(field.weights, POINTS)
        values = np.ascontiguousarray(field.values[:, self.places])
        # Levels of the problem are levels of the sample.
        small = field_of(values, counts)._replace(shift=field.shift)
        self.small = Problem(small, problem.limits, problem.size, 1)
        self.problem, self.until = problem, until

    def best_place(self, node: Node, scores: NDArray[np.float64]) -> int:
        """Return the place, among the free regions with the best scores, of the largest product
        of the gains of both its boxes."""
        self.small.offer(self.problem.best)
        levels = node.dual.levels[self.places]
        dual = node.dual._replace(levels=levels)
        base = self._bound(
            Node(node.inside, node.rows, dual, node.side, 0, node.frequency), BASE_STEPS
        )
        places = np.argsort(-scores, kind="stable")[:CANDIDATES]
        best, most, tried = int(places[0]), -1.0, 0
        for place in places:
            product = self._gain_product(base, int(place), node.rows)
            tried += 1
            if product > most:
                best, most, tried = int(place), product, 0
            if tried == PATIENCE:
                break
        return best

    def _gain_product(self, base: Node, place: int, rows: Ints) -> float:
        """Return the product of the gains of fixing and of excluding a region, each up to the
        cut-off."""
        most = max(self.small.worth - base.bound, 1)
        rest, product = np.delete(rows, place), 1.0
        for inside in ((*base.inside, int(rows[place])), base.inside):
            gain = most
            if 0 < self.small.size - len(inside) <= rest.size:
                child = Node(inside, rest, base.dual, base.side, 0, base.frequency)
                gain = min(max(self._bound(child, CHILD_STEPS).bound - base.bound, 1), most)
            product *= gain
        return product

    def _bound(self, node: Node, steps: int) -> Node:
        effort = Effort(steps, LENGTH, self.until, DECAY, MOMENTUM)
        Ascent(self.small, node, ProofLog(), effort).run()
        return node
