"""Costs and limits go in; the sets come out whose worst single loss leaves the least mean."""

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

import numpy as np

from analysis.optimization.failures.distance_limits import (
    After,
    cutoff_of,
    far_measure,
    keep,
    offer_near,
    proof_of_all,
    rules_for,
    sets_within,
)
from analysis.optimization.failures.failure_kernels import hope_of
from analysis.optimization.failures.post_failure import (
    Measured,
    Survival,
    best_first,
    fits_memory,
)
from analysis.optimization.failures.robust_search import Losses, Rest, Whole, without
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Costs
from analysis.optimization.solver.branch_and_bound import ROOT_LENGTH, ROOT_STEPS, rough_dual
from analysis.optimization.solver.certificate import Ledger, Proof
from analysis.optimization.solver.cost_kernels import weigh
from analysis.optimization.solver.local_search import exchange_losses, start
from analysis.optimization.solver.mean import Aim, Solved
from analysis.optimization.solver.problem import field_of
from analysis.optimization.solver.search_kernels import as_ints
from analysis.optimization.solver.subgradient import Ascent, Effort, Node

# Beyond so many times the cells of a plain search, climbing first pays for itself.
PLAIN_FACTOR = 10
# What a loss leaves of two regions is one.
PAIR = 2


@dataclass(frozen=True)
class End:
    """How a search ended: its proof, the bound that holds, and whether it is the value."""

    proof: Proof
    bound: int
    proven: bool
    nodes: int


def solve_robust(
    costs: Costs, limits: Limits, size: int, aim: Aim, after: After | None = None
) -> Solved:
    """Give the sets of least mean after their worst loss."""
    field = field_of(costs.matrix, costs.weights)
    first = Whole(field, limits, size, aim.places)
    if not start(first):
        return Solved((), Fraction(0), True, 0, 0, None)
    exchange_losses(first)
    whole = Whole(field, keep(limits, after), size, aim.places)
    whole.guide = first.best
    for members in first.listed:
        whole.offer(members)
    if after is not None and not whole.found:
        offer_near(whole, limits, after)
        exchange_losses(whole)
    if whole.found:
        whole.shorten(cutoff_of(whole.cost(whole.best), aim))
    end = _search(whole, limits, aim, after)
    weight = Fraction(1, costs.total_weight)
    sets = sets_within(tuple((s, whole.cost(s) * weight) for s in whole.listed), aim)
    bound = sets[0][1] if end.proven and sets else end.bound * weight
    places = len(sets) if end.proven else 0
    return Solved(sets, bound, end.proven, places, end.nodes, end.proof)


def _search(whole: Whole, limits: Limits, aim: Aim, after: After | None) -> End:
    """Weigh all remainders where memory holds them, else branch on regions."""
    regions = whole.free.size + len(limits.inside)
    if whole.size == PAIR:
        return _pair_up(whole, limits, aim.until)
    if fits_memory(regions, whole.size):
        return _weigh_all(whole, limits, aim, after)
    if after is None:
        return _branch(whole, aim.until)
    return _weigh_all(whole, limits, replace(aim, until=0.0), after)


def _pair_up(whole: Whole, limits: Limits, until: float) -> End:
    """Try pairs in the order of the worse of the two, which is what a loss may leave."""
    rows = as_ints(sorted({*whole.free, *limits.inside}))
    costs = as_ints([weigh(whole.field.weights, whole.field.values[j]) for j in rows])
    order = np.argsort(costs, kind="stable")
    proven, bound = True, int(whole.podium.costs[-1])
    for b, worse in enumerate(order):
        proven = proven and time.monotonic() < until
        if costs[worse] >= whole.podium.costs[-1] or not proven:
            bound = min(int(costs[worse]), int(whole.podium.costs[-1]))
            break
        for better in order[:b]:
            whole.offer((int(rows[better]), int(rows[worse])))
    bound = int(whole.podium.costs[-1]) if proven else bound
    node = Node(limits.inside, whole.free, rough_dual(whole))
    proof = proof_of_all(whole, (Ledger(), node, whole.free), limits, bound, robust=True)
    return End(proof, bound, proven, 1)


def _weigh_all(whole: Whole, limits: Limits, aim: Aim, after: After | None) -> End:
    until, ledger, rest = aim.until, Ledger(), _remainder(whole, limits)
    node = Node((), rest.free, rough_dual(whole))
    cells = comb(node.rows.size, whole.size - 1) * whole.points
    if cells > PLAIN_FACTOR * aim.plain_cells:
        Ascent(rest, node, ledger, Effort(ROOT_STEPS // 4, ROOT_LENGTH, until)).run()
    rows = node.rows
    if limits.inside:
        # Which regions are out of the question is found for sets that may lack one inside.
        ledger, rows = Ledger(), whole.free
    fixed = len(limits.inside) if len(limits.inside) <= whole.size - 2 else 0
    proven = node.closed
    if not proven and until:
        told = Measured(whole.field, node.dual.levels, int(whole.podium.costs[-1]), told=True)
        measures = (told, *([] if after is None else [far_measure(after)]))
        order = as_ints([*limits.inside, *best_first(told, rows)])
        rules = rules_for(limits, whole.field.values.shape[0], fixed)
        survival = Survival(order, fixed, whole.size, rules, measures, until)
        proven = survival.mark() and survival.unite(whole)
    bound = int(whole.podium.costs[-1])
    if not proven:
        bound = min(bound, _bound_of(whole, node, rest))
    proof = proof_of_all(whole, (ledger, node, rows), limits, bound, robust=True)
    return End(proof, bound, proven, 1)


def _bound_of(whole: Whole, node: Node, rest: Rest) -> int:
    """Give what the plain problem of one region less says of every set."""
    worst = np.full(whole.points, whole.worst, np.int64)
    _, hope = hope_of(whole.field, node.dual.levels, rest.free, worst, rest.size, 0)
    fine = int(hope.sure) - int(np.sort(hope.saved)[-rest.size :].sum())
    return max(-(-fine >> whole.field.shift), 0)


def _remainder(whole: Whole, limits: Limits) -> Rest:
    """Give the plain problem of one region less, whichever is lost."""
    rest = Rest(whole.field, replace(without(limits, None), inside=()), whole.size - 1, 1)
    rest.whole, rest.podium, rest.guide = whole, whole.podium, whole.guide
    return rest


def _branch(whole: Whole, until: float) -> End:
    losses = Losses(whole, until)
    losses.run()
    bound, proven = losses.conclude()
    proof = Proof(
        whole.size,
        whole.field.shift,
        bound,
        tuple(whole.listed),
        tuple(losses.boxes),
        tuple(losses.ledger.multipliers),
        robust=True,
    )
    return End(proof, bound, proven, losses.nodes)
