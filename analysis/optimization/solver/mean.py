"""Solve the k-region problem for the weighted mean, with lower bound and proof.

Where points without an answer are excluded, the mean is a ratio: each iteration prices such a point
at the incumbent ratio (Dinkelbach 1967), until no set improves on it.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import NO_ANSWER, Costs
from analysis.optimization.solver.benders import Cuts
from analysis.optimization.solver.branch_and_bound import (
    PLAIN_CELLS,
    Bounder,
    Outcome,
    Tree,
    sets_of,
)
from analysis.optimization.solver.certificate import GroupProof, Proof, in_original_order
from analysis.optimization.solver.lagrangian_bound import Node
from analysis.optimization.solver.local_search import neighbours, start
from analysis.optimization.solver.problem import Problem, field_of
from analysis.optimization.solver.sampling.sampled_search import sampled_tree
from analysis.optimization.solver.sampling.streamed_problem import StreamedProblem
from analysis.optimization.solver.warm_start import seed_by_clients, seed_by_sample

# From this many chosen regions on, and up to this many cells, Benders cuts pay off.
CUTS_FROM_SIZE = 11
CUTS_TO_CELLS = 4_000_000
# Spare places of the list, for sets with ratios that the integer price does not distinguish.
SPARE_PLACES = 16
MAX_SPARE_PLACES = 4096
# From this many client-rounds on, the problem of mean rounds is solved first.
MANY_POINTS = 50_000
# Above this multiple of ``extra_s``, the proof of the next best sets is not attempted.
MAX_SPENT = 2


@dataclass(frozen=True)
class Aim:
    """The number of sets to prove, their tolerance to the best, and time limits (monotonic
    clock)."""

    places: int = 1
    within: float = 0.0
    until: float = float("inf")
    extra_s: float = float("inf")
    plain_cells: int = PLAIN_CELLS


@dataclass(frozen=True)
class Solution:
    """Sets by exact cost, best first; ``bound`` is a lower bound, the first ``places`` are
    proven."""

    sets: tuple[tuple[tuple[int, ...], Fraction], ...]
    bound: Fraction
    proven: bool
    places: int
    nodes: int
    proof: Proof | GroupProof | None


def solve_mean(costs: Costs, limits: Limits, size: int, aim: Aim) -> Solution:
    """Return the sets of least mean cost; none if the problem is infeasible."""
    if costs.gaps and costs.penalty is None:
        return _solve_ratio(costs, limits, size, aim)
    begun = time.monotonic()
    cells = sets_of(costs.matrix.shape[0], size) * costs.weights.size
    if costs.is_streamed and not aim.within and cells > aim.plain_cells:
        return _solve_streamed(costs, limits, size, aim)
    costs = costs.filled()
    field = field_of(costs.matrix, costs.weights)
    if cells <= aim.plain_cells and not aim.within:
        return _solve_plainly(costs, Problem(field, limits, size, aim.places), aim)
    first = Problem(field, limits, size, 1)
    seed = _seed(costs, first, aim.until)
    tree, outcome, proof = search(first, aim.until, aim.plain_cells, seed)
    weight = Fraction(1, costs.total_weight)
    best = Solution(
        tuple((s, first.cost(s) * weight) for s in first.listed),
        outcome.bound * weight,
        outcome.proven,
        1 if outcome.proven else 0,
        outcome.nodes,
        proof,
    )
    if not first.found or not outcome.proven or (aim.places < 2 and not aim.within):
        return best
    hopeless = time.monotonic() - begun > MAX_SPENT * aim.extra_s and not aim.within
    return _extend(first, best, replace(aim, extra_s=0.0) if hopeless else aim, tree.root)


def _solve_streamed(costs: Costs, limits: Limits, size: int, aim: Aim) -> Solution:
    """Return the best set of so many client-rounds that a sample of them guides the search."""
    problem = StreamedProblem(costs, limits, size)
    tree = sampled_tree(costs, problem, aim.until)
    if tree is None:
        return solve_mean(costs.filled(), limits, size, aim)
    outcome = tree.run()
    weight = Fraction(1, costs.total_weight)
    others = [members for members in problem.evaluated if members != problem.best]
    best = [problem.best, *others][: aim.places]
    return Solution(
        tuple((members, problem.cost(members) * weight) for members in best),
        outcome.bound * weight,
        outcome.proven,
        1 if outcome.proven else 0,
        outcome.nodes,
        proof_of(problem, tree, outcome),
    )


def _seed(costs: Costs, problem: Problem, until: float) -> Node | None:
    """Return a root node with levels from a smaller problem, where there are many points."""
    if problem.points < MANY_POINTS:
        return None
    if costs.counted.shape[1] > 1:
        return seed_by_clients(costs, problem)
    seed = seed_by_sample(costs, problem, until)
    return None if seed is None else seed.node


def _solve_plainly(costs: Costs, problem: Problem, aim: Aim) -> Solution:
    """Search all sets exhaustively, including the next best."""
    _, outcome, proof = search(problem, aim.until, aim.plain_cells)
    weight = Fraction(1, costs.total_weight)
    sets = tuple((s, problem.cost(s) * weight) for s in problem.listed)
    bound = sets[0][1] if sets else Fraction(0)
    return Solution(sets, bound, outcome.proven, len(sets), outcome.nodes, proof)


def search(
    problem: Problem, until: float, plain_cells: int, seed: Node | None = None
) -> tuple[Tree, Outcome, Proof]:
    """Run branch and bound; return the tree, its outcome and its proof."""
    bounder: Bounder | None = None
    if problem.size >= CUTS_FROM_SIZE and problem.field.values.size <= CUTS_TO_CELLS:
        bounder = Cuts(problem)
    tree = Tree(problem, until, bounder, plain_cells=plain_cells, seed=seed)
    outcome = tree.run()
    return tree, outcome, proof_of(problem, tree, outcome)


def proof_of(problem: Problem, tree: Tree, outcome: Outcome) -> Proof:
    """Return the certificate of a search."""
    return Proof(
        problem.size,
        problem.field.shift,
        outcome.bound,
        tuple(problem.listed),
        tuple(tree.proof_log.boxes),
        tuple(in_original_order(m, problem.order) for m in tree.proof_log.multipliers),
        None if problem.field.lost < 0 else problem.field.lost,
    )


def _extend(first: Problem, best: Solution, aim: Aim, seed: Node | None) -> Solution:
    """Find the next best sets, and prove them if time allows."""
    cost, weight = first.cost(first.best), Fraction(1, int(first.field.weights.sum()))
    cutoff = cost + int(aim.within * cost) + 1 if aim.within else 0
    more = Problem(first.field, first.limits, first.size, aim.places, cutoff, first.order)
    more.offer(first.best)
    for other in neighbours(first, first.best, 2 * aim.places):
        more.offer(other)
    if not aim.extra_s:
        sets = tuple((s, more.cost(s) * weight) for s in more.listed)
        return Solution(sets, best.bound, True, 1, best.nodes, best.proof)
    until = min(aim.until, time.monotonic() + aim.extra_s)
    _, outcome, proof = search(more, until, aim.plain_cells, seed)
    sets = tuple((s, more.cost(s) * weight) for s in more.listed)
    if not outcome.proven:
        return Solution(sets, best.bound, True, 1, best.nodes + outcome.nodes, best.proof)
    return Solution(sets, sets[0][1], True, aim.places, best.nodes + outcome.nodes, proof)


def _solve_ratio(costs: Costs, limits: Limits, size: int, aim: Aim) -> Solution:
    """Lower the ratio of the last requested set until no further set improves on it."""
    known = _first_sets(costs, limits, size)
    spare, nodes = SPARE_PLACES, 0
    while True:
        ratio = _ratio_to_beat(known, aim)
        problem = _priced(costs, limits, (size, aim.places + spare), ratio)
        for members in known:
            problem.offer(members)
        _, outcome, proof = search(problem, aim.until, aim.plain_cells)
        nodes += outcome.nodes
        fresh = _ratios(costs, (s for s in problem.listed if s not in known))
        known.update(fresh)
        full = len(problem.listed) == problem.places
        if not outcome.proven or spare > MAX_SPARE_PLACES:
            break
        if not any(ratio is None or r < ratio for r in fresh.values()):
            if not full:
                break
            spare *= 4
    return _conclude_ratio(costs, known, (outcome, proof), aim, nodes)


def _ratio_to_beat(known: dict[tuple[int, ...], Fraction], aim: Aim) -> Fraction | None:
    ratios = sorted(known.values())
    if aim.within and ratios:
        return ratios[0] * (1 + Fraction(aim.within)) + Fraction(1, 10**12)
    return ratios[aim.places - 1] if len(ratios) >= aim.places else None


def _priced(
    costs: Costs, limits: Limits, shape: tuple[int, int], ratio: Fraction | None
) -> Problem:
    """Return the problem in which a point without an answer costs the ratio, rounded down."""
    if ratio is None:
        highest = int(costs.matrix[costs.matrix != NO_ANSWER].max(initial=0))
        return Problem(field_of(costs.matrix, costs.weights, highest), limits, *shape)
    # Every set of lesser ratio costs less than this, at the price of a whole ratio.
    cutoff = math.ceil(ratio * costs.total_weight)
    field = field_of(costs.matrix, costs.weights, int(ratio))
    return Problem(field, limits, *shape, max(cutoff, 1))


def _conclude_ratio(
    costs: Costs,
    known: dict[tuple[int, ...], Fraction],
    end: tuple[Outcome, Proof],
    aim: Aim,
    nodes: int,
) -> Solution:
    outcome, proof = end
    best = sorted(known.items(), key=lambda item: (item[1], item[0]))[: aim.places]
    if aim.within and best:
        best = [item for item in best if item[1] <= best[0][1] * (1 + Fraction(aim.within))]
    if outcome.proven:
        bound = best[0][1] if best else Fraction(0)
        return Solution(tuple(best), bound, True, len(best), nodes, proof)
    return Solution(tuple(best), _ratio_bound(costs, outcome, proof), False, 0, nodes, proof)


def _ratio_bound(costs: Costs, outcome: Outcome, proof: Proof) -> Fraction:
    """Return a lower bound of all ratios from the bound at this price."""
    price, total = proof.lost or 0, costs.total_weight
    weights = [int(costs.weights[row != NO_ANSWER].sum()) for row in costs.matrix]
    over = outcome.bound - price * total
    share = Fraction(over, total if over > 0 else min((w for w in weights if w), default=1))
    return max(price + share, Fraction(0))


def _first_sets(costs: Costs, limits: Limits, size: int) -> dict[tuple[int, ...], Fraction]:
    problem = _priced(costs, limits, (size, SPARE_PLACES), None)
    start(problem)
    return _ratios(costs, problem.listed)


def _ratios(costs: Costs, sets: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Fraction]:
    """Return each set's exact mean over the points that it answers, if it answers any."""
    ratios = {}
    for members in sets:
        least = costs.matrix[list(members)].min(axis=0)
        answered = least != NO_ANSWER
        weight = int(costs.weights[answered].sum())
        if weight:
            total = int((least[answered].astype(np.int64) * costs.weights[answered]).sum())
            ratios[members] = Fraction(total, weight)
    return ratios
