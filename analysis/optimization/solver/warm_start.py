"""Warm start of a problem of many points: from its mean rounds, or from a sample of its clients."""

import time
from dataclasses import dataclass

import numpy as np

from analysis.optimization.model.costs import Costs, Ints
from analysis.optimization.solver.branch_and_bound import ROOT_LENGTH, Tree
from analysis.optimization.solver.certificate import ProofLog
from analysis.optimization.solver.cost_kernels import gains
from analysis.optimization.solver.lagrangian_bound import Effort, Node
from analysis.optimization.solver.large_ascent import LargeAscent
from analysis.optimization.solver.local_search import exchange
from analysis.optimization.solver.problem import Problem, draw_by_weight, field_of
from analysis.optimization.solver.sampling.recorded_steps import StepLog
from analysis.optimization.solver.search_kernels import Dual, as_ints

# Time limit of the problem of mean rounds.
MAX_SECONDS = 10.0
# Clients that are drawn in proportion to their weights, steps of all clients' levels after that,
# and regions of which the best set of all clients is expected to consist.
SAMPLE = 6000
SAMPLE_STEPS = 150
MIN_REGIONS = 32
REGIONS_PER_CHOICE = 6


def seed_by_clients(costs: Costs, problem: Problem) -> Node | None:
    """Offer the best set of the mean rounds; return a root node with matching dual levels."""
    counted, rounds = costs.counted, costs.counted.shape[1]
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


@dataclass(frozen=True, eq=False)
class Seed:
    """A root node, and how its levels were found: ``share`` of the way from the best to the
    second-best chosen region, then steps in which ``rows`` were free."""

    node: Node
    rows: Ints
    share: float
    log: StepLog


def seed_by_sample(costs: Costs, problem: Problem, until: float) -> Seed | None:
    """Offer good sets by a sample of the clients; return a root node with near-optimal levels.

    The levels are improved for all clients, over the regions that matter in the sample only. Every
    bound that they give is computed for all regions, by the callers.
    """
    places, counts = draw_by_weight(costs.weights, SAMPLE)
    field = field_of(np.ascontiguousarray(costs.matrix[:, places]), counts)
    small = Problem(field, problem.limits, problem.size, 1)
    tree = Tree(small, until)
    # A shorter limit would make the search depend on how busy the machine is.
    tree.run_root(until - time.monotonic())
    if not small.found or tree.root is None:
        return None
    problem.offer(small.best)
    problem.arrange()
    dual = tree.root.dual
    first, second, _ = small.nearest(small.best)
    apart = np.maximum(second - first, 1)
    share = np.clip((dual.levels / 2.0**field.shift - first) / apart, 0, 1)
    middle = float(np.median(share))
    near, far, _ = problem.nearest(problem.best)
    spread = (near + middle * (far - near)) * 2.0**problem.field.shift
    saved = gains(field.values, field.weights, dual.levels, small.free, field.shift)
    count = max(MIN_REGIONS, REGIONS_PER_CHOICE * problem.size)
    rows = np.sort(small.free[np.argsort(-saved, kind="stable")[:count]])
    offset = np.zeros(costs.matrix.shape[0], np.int64)
    levels = Dual(np.rint(spread).astype(np.int64), 0, offset)
    node = Node(problem.limits.inside, rows.copy(), levels, None, 0, tree.root.frequency)
    log = StepLog(as_ints(problem.best))
    if 0 < problem.size - len(node.inside) <= rows.size:
        effort = Effort(SAMPLE_STEPS, ROOT_LENGTH, until)
        ascent = LargeAscent(problem, node, ProofLog(), effort)
        ascent.run()
        log = ascent.log
    root = Node((), problem.free, node.dual, node.side, 0, node.frequency)
    return Seed(root, rows, middle, log)
