"""Robust k-region problem: minimise the mean cost after the worst single loss."""

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

import numpy as np

from analysis.optimization.failures.distance_limits import (
    LossLimit,
    cutoff_of,
    far_measure,
    limits_after_loss,
    offer_near,
    proof_of_all,
    rules_for,
    sets_within,
)
from analysis.optimization.failures.failure_kernels import bound_partial_set
from analysis.optimization.failures.post_failure import (
    RemainderSearch,
    RemainderTest,
    best_first,
    fits_memory,
)
from analysis.optimization.failures.robust_search import (
    RemainderProblem,
    RobustProblem,
    RobustTree,
    without,
)
from analysis.optimization.failures.subset_search import MIN_SIZE, SubsetSearch
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Costs
from analysis.optimization.solver.branch_and_bound import ROOT_LENGTH, ROOT_STEPS, rough_dual
from analysis.optimization.solver.certificate import Proof, ProofLog
from analysis.optimization.solver.cost_kernels import weigh
from analysis.optimization.solver.lagrangian_bound import Ascent, Effort, Node
from analysis.optimization.solver.local_search import exchange_losses, start
from analysis.optimization.solver.mean import Aim, Solution
from analysis.optimization.solver.problem import field_of
from analysis.optimization.solver.search_kernels import as_ints

# Above this multiple of ``plain_cells``, subgradient steps before the search pay off.
PLAIN_FACTOR = 10
# A loss leaves one region of a pair.
PAIR = 2


@dataclass(frozen=True)
class RobustResult:
    """The result of a search: proof, lower bound, and whether the bound is attained."""

    proof: Proof
    bound: int
    proven: bool
    nodes: int


def solve_robust(
    costs: Costs, limits: Limits, size: int, aim: Aim, after: LossLimit | None = None
) -> Solution:
    """Return the sets of least mean cost after their worst loss."""
    field = field_of(costs.matrix, costs.weights)
    first = RobustProblem(field, limits, size, aim.places)
    if not start(first):
        return Solution((), Fraction(0), True, 0, 0, None)
    exchange_losses(first)
    whole = RobustProblem(field, limits_after_loss(limits, after), size, aim.places)
    whole.guide = first.best
    for members in first.listed:
        whole.offer(members)
    if after is not None and not whole.found:
        offer_near(whole, limits, after)
        exchange_losses(whole)
    if whole.found:
        whole.shorten(cutoff_of(whole.cost(whole.best), aim))
    end = search_robust(whole, limits, aim, after)
    weight = Fraction(1, costs.total_weight)
    sets = sets_within(tuple((s, whole.cost(s) * weight) for s in whole.listed), aim)
    bound = sets[0][1] if end.proven and sets else end.bound * weight
    places = len(sets) if end.proven else 0
    return Solution(sets, bound, end.proven, places, end.nodes, end.proof)


def search_robust(
    whole: RobustProblem, limits: Limits, aim: Aim, after: LossLimit | None = None
) -> RobustResult:
    """Evaluate all remainders where they fit into memory, else branch on regions."""
    regions = whole.free.size + len(limits.inside)
    if whole.size == PAIR:
        return _pair_up(whole, limits, aim.until)
    if fits_memory(regions, whole.size):
        return _weigh_all(whole, limits, aim, after)
    if after is None:
        return _branch(whole, aim.until)
    return _weigh_all(whole, limits, replace(aim, until=0.0), after)


def _pair_up(whole: RobustProblem, limits: Limits, until: float) -> RobustResult:
    """Evaluate pairs in the order of their worse region, the cost after the worst loss."""
    rows = as_ints(sorted({*whole.free, *limits.inside}))
    costs = as_ints([weigh(whole.field.weights, whole.field.values[j]) for j in rows])
    order = np.argsort(costs, kind="stable")
    proven, bound = True, int(whole.incumbents.costs[-1])
    for b, worse in enumerate(order):
        proven = proven and time.monotonic() < until
        if costs[worse] >= whole.incumbents.costs[-1] or not proven:
            bound = min(int(costs[worse]), int(whole.incumbents.costs[-1]))
            break
        for better in order[:b]:
            whole.offer((int(rows[better]), int(rows[worse])))
    bound = int(whole.incumbents.costs[-1]) if proven else bound
    node = Node(limits.inside, whole.free, rough_dual(whole))
    proof = proof_of_all(whole, (ProofLog(), node, whole.free), limits, bound, robust=True)
    return RobustResult(proof, bound, proven, 1)


def _weigh_all(
    whole: RobustProblem, limits: Limits, aim: Aim, after: LossLimit | None
) -> RobustResult:
    until, proof_log, rest = aim.until, ProofLog(), _remainder(whole, limits)
    node = Node((), rest.free, rough_dual(whole))
    cells = comb(node.rows.size, whole.size - 1) * whole.points
    if cells > PLAIN_FACTOR * aim.plain_cells:
        Ascent(rest, node, proof_log, Effort(ROOT_STEPS // 4, ROOT_LENGTH, until)).run()
    rows = node.rows
    if limits.inside:
        # Exclusions hold for sets that may lack a required region, so they are not used here.
        proof_log, rows = ProofLog(), whole.free
    fixed = len(limits.inside) if len(limits.inside) <= whole.size - 2 else 0
    proven = node.closed
    if not proven and until and after is None and whole.size >= MIN_SIZE:
        # Required regions are groups here, because no place is fixed.
        order = as_ints(best_first(whole.field, node.dual.levels, as_ints([*limits.inside, *rows])))
        rules = rules_for(limits, whole.field.values.shape[0], 0)
        proven = SubsetSearch(whole, order, rules, until).run()
    elif not proven and until:
        mean_test = RemainderTest(
            whole.field, node.dual.levels, int(whole.incumbents.costs[-1]), stores_cost=True
        )
        measures = (mean_test, *([] if after is None else [far_measure(after)]))
        order = as_ints([*limits.inside, *best_first(whole.field, node.dual.levels, rows)])
        rules = rules_for(limits, whole.field.values.shape[0], fixed)
        survival = RemainderSearch(order, fixed, whole.size, rules, measures, until)
        proven = survival.mark() and survival.evaluate(whole)
    bound = int(whole.incumbents.costs[-1])
    if not proven:
        bound = min(bound, _bound_of(whole, node, rest))
    proof = proof_of_all(whole, (proof_log, node, rows), limits, bound, robust=True)
    return RobustResult(proof, bound, proven, 1)


def _bound_of(whole: RobustProblem, node: Node, rest: RemainderProblem) -> int:
    """Return the lower bound from the problem without losses and one region less."""
    worst = np.full(whole.points, whole.worst, np.int64)
    _, bound = bound_partial_set(whole.field, node.dual.levels, rest.free, worst, rest.size, 0)
    fine = int(bound.sure) - int(np.sort(bound.saved)[-rest.size :].sum())
    return max(-(-fine >> whole.field.shift), 0)


def _remainder(whole: RobustProblem, limits: Limits) -> RemainderProblem:
    """Return the problem without losses and one region less, whichever is lost."""
    rest = RemainderProblem(
        whole.field, replace(without(limits, None), inside=()), whole.size - 1, 1
    )
    rest.whole, rest.incumbents, rest.guide = whole, whole.incumbents, whole.guide
    return rest


def _branch(whole: RobustProblem, until: float) -> RobustResult:
    losses = RobustTree(whole, until)
    losses.run()
    bound, proven = losses.conclude()
    proof = Proof(
        whole.size,
        whole.field.shift,
        bound,
        tuple(whole.listed),
        tuple(losses.boxes),
        tuple(losses.proof_log.multipliers),
        robust=True,
    )
    return RobustResult(proof, bound, proven, losses.nodes)
