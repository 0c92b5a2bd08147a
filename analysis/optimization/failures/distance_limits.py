"""How far clients may be once a region is lost goes in; the best sets that keep to it come out."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from analysis.optimization.failures.post_failure import (
    Measured,
    Survival,
    best_first,
    fits_memory,
)
from analysis.optimization.failures.robust_search import Whole
from analysis.optimization.model.constraints import Constraints, Limits
from analysis.optimization.model.costs import Costs, Ints, Matrix
from analysis.optimization.model.objectives import Measure, Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.solver.branch_and_bound import ROOT_LENGTH, ROOT_STEPS, rough_dual
from analysis.optimization.solver.certificate import Box, Ledger, Proof
from analysis.optimization.solver.local_search import exchange, exchange_losses, start
from analysis.optimization.solver.mean import Aim, Solved, solve_mean
from analysis.optimization.solver.problem import Problem, field_of, rules_of
from analysis.optimization.solver.search_kernels import Field, Rules, as_ints
from analysis.optimization.solver.subgradient import Ascent, Effort, Node
from core.errors import BadInput

Sets = tuple[tuple[tuple[int, ...], Fraction], ...]


@dataclass(frozen=True, eq=False)
class After:
    """Which region is far from which point, and how much weight may be far after any one loss."""

    far: Matrix
    weights: Ints
    most: int

    def holds(self, members: tuple[int, ...]) -> bool:
        """Say whether a set keeps to it, whichever of its regions is lost."""
        rests = combinations(members, len(members) - 1)
        return all(
            rest and int(self.weights @ self.far[list(rest)].min(axis=0)) <= self.most
            for rest in rests
        )


@dataclass(frozen=True)
class KeptLimits(Limits):
    """Limits that also ask how far clients are after a loss."""

    after: After | None = None

    def allow(self, chosen: tuple[int, ...]) -> bool:
        """Say whether a complete set keeps to everything."""
        return super().allow(chosen) and (self.after is None or self.after.holds(chosen))


def after_of(
    samples: Samples, costs: Costs, objective: Objective, constraints: Constraints
) -> After | None:
    """Give what is asked for after a loss, if anything is; raises BadInput where it cannot be."""
    if constraints.after_loss_ms is None:
        return None
    if objective.measure is not Measure.LATENCY:
        raise BadInput("a limit in ms is for latencies", field="after_loss_ms")
    if not (np.isfinite(constraints.after_loss_ms) and constraints.after_loss_ms > 0):
        raise BadInput("a limit in ms is a number above 0", field="after_loss_ms")
    if not 0 <= constraints.after_loss_share < 1:
        raise BadInput("a share lies from 0 to below 1", field="after_loss_share")
    share = Fraction(str(constraints.after_loss_share))
    return After(
        far_of(samples, constraints.after_loss_ms),
        costs.weights,
        int(share * costs.total_weight),
    )


def far_of(samples: Samples, limit_ms: float) -> Matrix:
    """Give 1 per region and point where the value is above the limit, or no answer came."""
    near = np.stack([plane.reshape(-1) <= limit_ms for plane in samples.values])
    return np.where(near, 0, 1).astype(np.int32)


def keep(limits: Limits, after: After | None) -> Limits:
    """Give limits that also ask for what holds after a loss."""
    if after is None:
        return limits
    parts = {name: getattr(limits, name) for name in Limits.__dataclass_fields__}
    return KeptLimits(**parts, after=after)


def cover_of(after: After) -> Field:
    """Give the field in which a set costs the weight that is far from all its regions."""
    return Field(after.far, after.weights, after.far, -1, 0, -1)


def far_measure(after: After) -> Measured:
    """Give what makes a remainder good: that not too much weight is far."""
    return Measured(cover_of(after), np.ones_like(after.weights), after.most + 1, told=False)


def offer_near(problem: Problem, limits: Limits, after: After) -> None:
    """Offer a set that keeps to what is asked after a loss, if a short search finds one."""
    cover = Whole(cover_of(after), limits, problem.size, 1)
    if start(cover):
        exchange_losses(cover)
        problem.offer(cover.best)


def rules_for(limits: Limits, regions: int, fixed: int) -> Rules:
    """Give the rules of whole sets; what must be inside stands among the groups if not fixed."""
    if fixed == len(limits.inside):
        return rules_of(limits, regions)
    groups = (*limits.groups, *((j,) for j in limits.inside))
    return rules_of(
        replace(limits, groups=groups, needs=(*limits.needs, *([1] * len(limits.inside)))), regions
    )


def solve_after_loss(costs: Costs, limits: Limits, size: int, aim: Aim, after: After) -> Solved:
    """Give the sets of least mean that keep to what is asked after a loss."""
    plain = solve_mean(costs, limits, size, aim)
    kept = [after.holds(members) for members, _ in plain.sets]
    if not plain.sets or kept[0]:
        sets = tuple(one for one, good in zip(plain.sets, kept, strict=True) if good)
        return replace(plain, sets=sets, places=sum(kept[: plain.places]))
    problem = Problem(field_of(costs.matrix, costs.weights), keep(limits, after), size, aim.places)
    offer_near(problem, limits, after)
    if problem.found:
        exchange(problem, list(problem.best))
        problem.shorten(cutoff_of(problem.cost(problem.best), aim))
    found = _search(problem, limits, after, aim.until)
    weight = Fraction(1, costs.total_weight)
    sets = sets_within(tuple((s, problem.cost(s) * weight) for s in problem.listed), aim)
    if found is None:
        return Solved(sets, plain.bound, False, 0, plain.nodes, _loosened(plain, costs))
    value = sets[0][1] if sets else Fraction(0)
    return Solved(sets, value, True, len(sets), plain.nodes, found)


def cutoff_of(cost: int, aim: Aim) -> int:
    """Give what sets cost at most that are near enough to one of this cost; 0 for no such limit."""
    return int(cost * (1 + Fraction(aim.within))) + 1 if aim.within else 0


def sets_within(sets: Sets, aim: Aim) -> Sets:
    """Give the sets that are near enough to the best of them."""
    if not aim.within or not sets:
        return sets
    most = sets[0][1] * (1 + Fraction(aim.within))
    return tuple(one for one in sets if one[1] <= most)


def _loosened(plain: Solved, costs: Costs) -> Proof | None:
    """Give the proof of the plain problem for no more than its bound, without its sets."""
    if plain.proof is None:
        return None
    floor = min(plain.proof.floor, int(plain.bound * costs.total_weight))
    return replace(plain.proof, floor=floor, listed=())


def _search(problem: Problem, limits: Limits, after: After, until: float) -> Proof | None:
    """Search all sets that keep to it; give the proof, or nothing if that takes too long."""
    regions = problem.field.values.shape[0]
    node = Node(limits.inside, problem.free, rough_dual(problem))
    ledger = Ledger()
    if len(limits.inside) < problem.size <= len(limits.inside) + node.rows.size:
        Ascent(problem, node, ledger, Effort(ROOT_STEPS // 4, ROOT_LENGTH, until)).run()
    fixed = len(limits.inside) if len(limits.inside) <= problem.size - 2 else 0
    far = far_measure(after)
    if not node.closed:
        if not fits_memory(node.rows.size + len(limits.inside), problem.size):
            return None
        order = as_ints([*limits.inside, *best_first(far, node.rows)])
        rules = rules_for(limits, regions, fixed)
        survival = Survival(order, fixed, problem.size, rules, (far,), until)
        if not survival.mark() or not survival.unite(problem, node.dual.levels):
            return None
    floor = int(problem.podium.costs[-1])
    return proof_of_all(problem, (ledger, node, node.rows), limits, floor)


def proof_of_all(
    problem: Problem,
    written: tuple[Ledger, Node, Ints],
    limits: Limits,
    floor: int,
    *,
    robust: bool = False,
) -> Proof:
    """Give the proof whose last box holds every set of the regions in play."""
    ledger, node, rows = written
    number = ledger.keep(node.dual.levels, None if robust else node.side)
    inside = frozenset(limits.inside)
    everyone = frozenset(range(problem.field.values.shape[0]))
    outside = everyone - inside - {int(j) for j in rows}
    last = Box(inside, outside, frozenset() if robust else inside, number)
    return Proof(
        problem.size,
        problem.field.shift,
        floor,
        tuple(problem.listed),
        (*ledger.boxes, last),
        tuple(ledger.multipliers),
        robust=robust,
    )


def without_far(limits: Limits, after: After) -> Limits:
    """Give limits for pairs: what is left of a pair is one region, which has to do by itself."""
    bad = {j for j, row in enumerate(after.far) if int(after.weights @ row) > after.most}
    return replace(limits, outside=tuple(sorted(bad.union(limits.outside))))
