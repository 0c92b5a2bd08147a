"""Warm start of a problem of many rounds from the solution of its mean rounds."""

import time

import numpy as np

from analysis.optimization.model.costs import Costs, Ints
from analysis.optimization.solver.branch_and_bound import Tree
from analysis.optimization.solver.lagrangian_bound import Node
from analysis.optimization.solver.local_search import exchange
from analysis.optimization.solver.problem import Problem, field_of
from analysis.optimization.solver.search_kernels import Dual

# Time limit of the problem of mean rounds.
MAX_SECONDS = 10.0


def seed_by_clients(costs: Costs, problem: Problem) -> Node | None:
    """Offer the best set of the mean rounds; return a root node with matching dual levels."""
    counted, rounds = costs.counted, costs.counted.shape[1]
    if rounds < 2:
        return None
    answered = np.maximum(counted.sum(axis=1), 1)
    means = np.stack(
        [(row.reshape(counted.shape) * counted).sum(axis=1) / answered for row in costs.matrix]
    )
    whole = np.rint(means).astype(np.int32)
    weights = costs.weights.reshape(counted.shape).max(axis=1)
    small = Problem(field_of(whole, weights), problem.limits, problem.size, 1)
    tree = Tree(small, time.monotonic() + MAX_SECONDS)
    tree.run()
    if not small.found:
        return None
    problem.offer(small.best)
    exchange(problem, list(small.best))
    if tree.root is None:
        return None
    levels = _spread(small, problem, tree.root.dual.levels, rounds)
    offset = np.zeros(costs.matrix.shape[0], np.int64)
    return Node((), problem.free, Dual(levels, 0, offset), None, 0, tree.root.frequency)


def _spread(small: Problem, problem: Problem, levels: Ints, rounds: int) -> Ints:
    """Interpolate each round's level between its best and second-best cost as in the mean."""
    first, second, _ = small.nearest(small.best)
    share = (levels / 2.0**small.field.shift - first) / np.maximum(second - first, 1)
    near, far, _ = problem.nearest(problem.best)
    spread = near + np.repeat(share, rounds) * (far - near)
    fine = np.maximum(spread, 0) * 2.0**problem.field.shift
    whole: Ints = np.rint(fine).astype(np.int64)
    return whole
