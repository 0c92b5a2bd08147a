"""Best sets under a latency limit after the loss of any one region."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from analysis.optimization.failures.post_failure import (
    RemainderSearch,
    RemainderTest,
    best_first,
    fits_memory,
)
from analysis.optimization.failures.robust_search import RobustProblem
from analysis.optimization.model.constraints import Constraints, Limits
from analysis.optimization.model.costs import Costs, Ints, Matrix
from analysis.optimization.model.objectives import Measure, Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.solver.branch_and_bound import ROOT_LENGTH, ROOT_STEPS, rough_dual
from analysis.optimization.solver.certificate import Box, Proof, ProofLog
from analysis.optimization.solver.lagrangian_bound import Ascent, Effort, Node
from analysis.optimization.solver.local_search import exchange, exchange_losses, start
from analysis.optimization.solver.mean import Aim, Solution, solve_mean
from analysis.optimization.solver.problem import Problem, field_of, rules_of
from analysis.optimization.solver.search_kernels import Field, Rules, as_ints
from core.errors import BadInput

Sets = tuple[tuple[tuple[int, ...], Fraction], ...]


@dataclass(frozen=True, eq=False)
class LossLimit:
    """A limit after a loss: ``far`` (n_regions, n_points) int32 is 1 above the latency limit;
    weight ``most`` at most may be far after any one loss."""

    far: Matrix
    weights: Ints
    most: int

    def holds(self, members: tuple[int, ...]) -> bool:
        """Return whether a set satisfies the limit, whichever of its regions is lost."""
        rests = combinations(members, len(members) - 1)
        return all(
            rest and int(self.weights @ self.far[list(rest)].min(axis=0)) <= self.most
            for rest in rests
        )


@dataclass(frozen=True)
class LimitsAfterLoss(Limits):
    """Limits with a latency limit after the loss of one region."""

    after: LossLimit | None = None

    def allow(self, chosen: tuple[int, ...]) -> bool:
        """Return whether a complete set satisfies all constraints."""
        return super().allow(chosen) and (self.after is None or self.after.holds(chosen))


def build_loss_limit(
    samples: Samples, costs: Costs, objective: Objective, constraints: Constraints
) -> LossLimit | None:
    """Return the limits that hold after a loss, if any; raise BadInput where they cannot be met."""
    if constraints.after_loss_ms is None:
        return None
    if objective.measure is not Measure.LATENCY:
        raise BadInput("a limit in ms is for latencies", field="after_loss_ms")
    if not (np.isfinite(constraints.after_loss_ms) and constraints.after_loss_ms > 0):
        raise BadInput("a limit in ms is a number above 0", field="after_loss_ms")
    if not 0 <= constraints.after_loss_share < 1:
        raise BadInput("a share lies from 0 to below 1", field="after_loss_share")
    share = Fraction(str(constraints.after_loss_share))
    return LossLimit(
        far_of(samples, constraints.after_loss_ms),
        costs.weights,
        int(share * costs.total_weight),
    )


def far_of(samples: Samples, limit_ms: float) -> Matrix:
    """Return 1 per region and point where the value is above the limit, or no answer came."""
    near = np.stack([plane.reshape(-1) <= limit_ms for plane in samples.values])
    return np.where(near, 0, 1).astype(np.int32)


def limits_after_loss(limits: Limits, after: LossLimit | None) -> Limits:
    """Return limits with the limit after a loss added."""
    if after is None:
        return limits
    parts = {name: getattr(limits, name) for name in Limits.__dataclass_fields__}
    return LimitsAfterLoss(**parts, after=after)


def cover_of(after: LossLimit) -> Field:
    """Return the costs for which a set costs the weight that is far from all its regions."""
    return Field(after.far, after.weights, after.far, -1, 0, -1)


def far_measure(after: LossLimit) -> RemainderTest:
    """Return the test of a remainder: at most ``after.most`` weight is far."""
    return RemainderTest(
        cover_of(after), np.ones_like(after.weights), after.most + 1, stores_cost=False
    )


def offer_near(problem: Problem, limits: Limits, after: LossLimit) -> None:
    """Add a set that satisfies the limit after a loss, if a short local search finds one."""
    cover = RobustProblem(cover_of(after), limits, problem.size, 1)
    if start(cover):
        exchange_losses(cover)
        problem.offer(cover.best)


def rules_for(limits: Limits, regions: int, fixed: int) -> Rules:
    """Return the rules of complete sets; required regions become groups if they are not fixed."""
    if fixed == len(limits.inside):
        return rules_of(limits, regions)
    groups = (*limits.groups, *((j,) for j in limits.inside))
    return rules_of(
        replace(limits, groups=groups, needs=(*limits.needs, *([1] * len(limits.inside)))), regions
    )


def solve_after_loss(
    costs: Costs, limits: Limits, size: int, aim: Aim, after: LossLimit
) -> Solution:
    """Return the sets of least mean that satisfy the limit after a loss."""
    plain = solve_mean(costs, limits, size, aim)
    kept = [after.holds(members) for members, _ in plain.sets]
    if not plain.sets or kept[0]:
        sets = tuple(one for one, good in zip(plain.sets, kept, strict=True) if good)
        return replace(plain, sets=sets, places=sum(kept[: plain.places]))
    problem = Problem(
        field_of(costs.matrix, costs.weights), limits_after_loss(limits, after), size, aim.places
    )
    offer_near(problem, limits, after)
    if problem.found:
        exchange(problem, list(problem.best))
        problem.shorten(cutoff_of(problem.cost(problem.best), aim))
    found = _search(problem, limits, after, aim.until)
    weight = Fraction(1, costs.total_weight)
    sets = sets_within(tuple((s, problem.cost(s) * weight) for s in problem.listed), aim)
    if found is None:
        return Solution(sets, plain.bound, False, 0, plain.nodes, _loosened(plain, costs))
    value = sets[0][1] if sets else Fraction(0)
    return Solution(sets, value, True, len(sets), plain.nodes, found)


def cutoff_of(cost: int, aim: Aim) -> int:
    """Return the cost cut-off of sets within ``aim.within`` of this cost; 0 without a limit."""
    return int(cost * (1 + Fraction(aim.within))) + 1 if aim.within else 0


def sets_within(sets: Sets, aim: Aim) -> Sets:
    """Return the sets within ``aim.within`` of the best."""
    if not aim.within or not sets:
        return sets
    most = sets[0][1] * (1 + Fraction(aim.within))
    return tuple(one for one in sets if one[1] <= most)


def _loosened(plain: Solution, costs: Costs) -> Proof | None:
    """Return the proof of the relaxed problem, valid for its bound, without its sets."""
    if not isinstance(plain.proof, Proof):
        return None
    floor = min(plain.proof.floor, int(plain.bound * costs.total_weight))
    return replace(plain.proof, floor=floor, listed=())


def _search(problem: Problem, limits: Limits, after: LossLimit, until: float) -> Proof | None:
    """Search all sets that satisfy the limit; return the proof, or None out of time."""
    regions = problem.field.values.shape[0]
    node = Node(limits.inside, problem.free, rough_dual(problem))
    proof_log = ProofLog()
    if len(limits.inside) < problem.size <= len(limits.inside) + node.rows.size:
        Ascent(problem, node, proof_log, Effort(ROOT_STEPS // 4, ROOT_LENGTH, until)).run()
    fixed = len(limits.inside) if len(limits.inside) <= problem.size - 2 else 0
    far = far_measure(after)
    if not node.closed:
        if not fits_memory(node.rows.size + len(limits.inside), problem.size):
            return None
        order = as_ints([*limits.inside, *best_first(far.field, far.levels, node.rows)])
        rules = rules_for(limits, regions, fixed)
        survival = RemainderSearch(order, fixed, problem.size, rules, (far,), until)
        if not survival.mark() or not survival.evaluate(problem, node.dual.levels):
            return None
    floor = int(problem.incumbents.costs[-1])
    return proof_of_all(problem, (proof_log, node, node.rows), limits, floor)


def proof_of_all(
    problem: Problem,
    written: tuple[ProofLog, Node, Ints],
    limits: Limits,
    floor: int,
    *,
    robust: bool = False,
) -> Proof:
    """Return the proof with a last box that contains every set of the regions not excluded."""
    proof_log, node, rows = written
    number = proof_log.add_multipliers(node.dual.levels, None if robust else node.side)
    inside = frozenset(limits.inside)
    everyone = frozenset(range(problem.field.values.shape[0]))
    outside = everyone - inside - {int(j) for j in rows}
    last = Box(inside, outside, frozenset() if robust else inside, number)
    return Proof(
        problem.size,
        problem.field.shift,
        floor,
        tuple(problem.listed),
        (*proof_log.boxes, last),
        tuple(proof_log.multipliers),
        robust=robust,
    )


def without_far(limits: Limits, after: LossLimit) -> Limits:
    """Return limits for pairs: after a loss one region remains and must satisfy the limit alone."""
    bad = {j for j, row in enumerate(after.far) if int(after.weights @ row) > after.most}
    return replace(limits, outside=tuple(sorted(bad.union(limits.outside))))
