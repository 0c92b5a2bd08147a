"""Recommend the best k regions of samples under an objective and constraints, with proof."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from analysis.optimization.failures.distance_limits import (
    build_loss_limit,
    solve_after_loss,
    without_far,
)
from analysis.optimization.failures.robust import solve_robust
from analysis.optimization.failures.robust_percentile import solve_robust_percentile
from analysis.optimization.groups.group_costs import GroupCosts, group_costs
from analysis.optimization.groups.worst_group import solve_worst_group
from analysis.optimization.model.constraints import Constraints, Limits, limit
from analysis.optimization.model.costs import NO_ANSWER, Costs, cost
from analysis.optimization.model.objectives import Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.solver.branch_and_bound import PLAIN_CELLS
from analysis.optimization.solver.mean import Aim, Solution, solve_mean
from analysis.optimization.solver.percentile import solve_percentile
from analysis.optimization.solver.result import Recommendation, Set
from core.errors import BadInput

# Sets that are listed at most when all sets within a tolerance are requested.
MAX_SETS = 100
# A loss leaves one region of a pair, which is evaluated directly.
PAIR = 2


@dataclass(frozen=True)
class Effort:
    """Limits of the search: seconds per k, and for the proof of runners-up after the best is
    proven.

    ``within`` asks for all sets with a mean within this share of the best. Up to
    ``plain_cells`` sets times points are searched without subgradient steps.
    """

    time_limit_s: float = 60.0
    runners_up: int = 1
    runners_up_s: float = 0.1
    within: float = 0.0
    plain_cells: int = PLAIN_CELLS


@dataclass(eq=False)
class Study:
    """Samples prepared once for many recommendations; raise BadInput as ``cost`` does."""

    samples: Samples
    objective: Objective = field(default_factory=Objective)
    costs: Costs = field(init=False)
    groups: GroupCosts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.costs = cost(self.samples, self.objective)
        if self.objective.worst_group:
            if not self.samples.groups:
                raise BadInput("the countries of the clients are unknown", field="worst_country")
            self.groups = group_costs(self.costs, self.samples.groups)

    def recommend(
        self, k: int, constraints: Constraints | None = None, effort: Effort | None = None
    ) -> Recommendation:
        """Return the best k regions; raise BadInput on a k or a name that cannot be."""
        begun = time.monotonic()
        effort, asked = effort or Effort(), constraints or Constraints()
        regions = self.samples.regions
        if not 1 <= k <= len(regions):
            raise BadInput(f"k lies between 1 and {len(regions)}", field="k")
        solved = self._solve(limit(regions, asked), k, asked, effort)
        return self._answer(k, solved, time.monotonic() - begun)

    def curve(
        self,
        ks: Iterable[int],
        constraints: Constraints | None = None,
        effort: Effort | None = None,
    ) -> list[Recommendation]:
        """Return a recommendation per k; raise BadInput as ``recommend`` does."""
        return [self.recommend(k, constraints, effort) for k in ks]

    def value_of(self, regions: Iterable[str], *, survive_loss: bool = False) -> float | None:
        """Return the objective's value for any set; None if it answers nothing."""
        members = tuple(self.samples.regions.index(name) for name in regions)
        if self.groups is not None:
            robust = replace(self.groups, is_robust=survive_loss)
            exact = robust.exact(members) if len(members) > survive_loss else None
        else:
            exact = exact_value(self.costs, members, self._share(), survive_loss=survive_loss)
        return None if exact is None else self.costs.value_of(float(exact))

    def group_means(self, regions: Iterable[str]) -> dict[str, float]:
        """Return the mean of each group of clients for any set; empty without groups."""
        if self.groups is None:
            return {}
        members = [self.samples.regions.index(name) for name in regions]
        means = self.groups.means(members)
        values = [self.costs.value_of(float(mean)) for mean in means]
        return dict(zip(self.groups.names, values, strict=True))

    def value_without(self, regions: Iterable[str], lost: str) -> float | None:
        """Return a set's value once a region fails, never better than before; None if none is left.

        Where missing answers are excluded, the rounds of the whole set stay the ones that are
        counted: those that it no longer answers cost the worst value measured.
        """
        names = self.samples.regions
        members = [names.index(name) for name in regions]
        rest = tuple(j for j in members if j != names.index(lost))
        if not rest:
            return None
        costs = self.costs
        if self.groups is not None:
            return costs.value_of(float(self.groups.exact(rest)))
        if costs.penalty is None:
            answered = (costs.matrix[members] != NO_ANSWER).any(axis=0)
            matrix = np.where(costs.matrix == NO_ANSWER, costs.lost, costs.matrix)
            costs = replace(
                costs, matrix=matrix, weights=costs.weights * answered, penalty=costs.lost
            )
        exact = exact_value(costs, rest, self._share())
        return None if exact is None else costs.value_of(float(exact))

    def _share(self) -> Fraction | None:
        percentile = self.objective.percentile
        return None if percentile is None else Fraction(str(percentile)) / 100

    def _solve(self, limits: Limits, k: int, asked: Constraints, effort: Effort) -> Solution:
        now = time.monotonic()
        places = MAX_SETS if effort.within else 1 + effort.runners_up
        until = now + effort.time_limit_s
        aim = Aim(places, effort.within, until, effort.runners_up_s, effort.plain_cells)
        share = self._share()
        after = build_loss_limit(self.samples, self.costs, self.objective, asked)
        if self.groups is not None:
            return self._solve_worst_group(limits, k, asked, aim)
        if asked.survive_loss or after is not None:
            costs = self.costs.filled()
            self._check_robust_size(k, has_limit=after is not None)
            if after is not None and k == PAIR:
                limits, after = without_far(limits, after), None
            if share is not None:
                return solve_robust_percentile(costs, limits, k, share, aim)
            if asked.survive_loss:
                return solve_robust(costs, limits, k, aim, after)
            if after is not None:
                return solve_after_loss(costs, limits, k, aim, after)
        if share is not None:
            return solve_percentile(self.costs, limits, k, share, aim)
        return solve_mean(self.costs, limits, k, aim)

    def _solve_worst_group(self, limits: Limits, k: int, asked: Constraints, aim: Aim) -> Solution:
        if asked.after_loss_ms is not None:
            raise BadInput(
                "a latency limit after a loss is for the mean; with the worst country, ask that "
                "the set survive a loss",
                field="after_loss_ms",
            )
        if asked.survive_loss:
            self._check_robust_size(k, has_limit=False)
        groups = group_costs(self.costs, self.samples.groups, is_robust=asked.survive_loss)
        return solve_worst_group(groups, limits, k, aim)

    def _check_robust_size(self, k: int, *, has_limit: bool) -> None:
        if has_limit and self._share() is not None:
            raise BadInput(
                "a latency limit after a loss is for the mean; with a percentile, ask that the set "
                "survive a loss",
                field="after_loss_ms",
            )
        if k < PAIR:
            raise BadInput("to survive the loss of a region takes at least two", field="k")
        if self.costs.gaps and self.costs.penalty is None:
            raise BadInput("give missing answers a penalty to survive losses", field="missing")

    def _answer(self, k: int, solved: Solution, seconds: float) -> Recommendation:
        names, costs = self.samples.regions, self.costs
        sets = [
            Set(tuple(names[j] for j in members), costs.value_of(float(value)))
            for members, value in solved.sets
        ]
        if not sets:
            reason = "no set of this size keeps to the constraints and answers a client"
            if not solved.proven:
                reason = "no set that keeps to the constraints was found in time"
            answer = Recommendation(k, (), None, None, solved.proven, reason=reason)
            return replace(answer, seconds=seconds, missing=self.samples.missing)
        lost, lost_weight = unanswered(self.samples, solved.sets[0][0])
        return Recommendation(
            k,
            sets[0].regions,
            sets[0].value,
            costs.value_of(float(solved.bound)),
            solved.proven,
            runners_up=tuple(sets[1:]),
            runners_up_proven=max(solved.places - 1, 0),
            unanswered=lost,
            unanswered_share=lost_weight,
            missing=self.samples.missing,
            rounding=costs.rounding,
            seconds=seconds,
            nodes=solved.nodes,
            proof=solved.proof,
        )


def recommend(
    samples: Samples,
    k: int,
    objective: Objective | None = None,
    constraints: Constraints | None = None,
    effort: Effort | None = None,
) -> Recommendation:
    """Return the best k regions; raise BadInput on samples, names or numbers that cannot be."""
    return Study(samples, objective or Objective()).recommend(k, constraints, effort)


def warm_up() -> list[tuple[Samples, Recommendation, Constraints]]:
    """Compile every loop of the search, or load it: on a machine that never did, some twenty
    seconds. Return what was solved, for the loops of the verification.
    """
    values = np.arange(1.0, 61.0).reshape(6, 10, 1) % 7 + 1
    names = tuple(map(str, range(10)))
    samples = Samples(names[:6], names, ("1",), values)
    study, lost = Study(samples), Constraints(survive_loss=True)
    near = Constraints(after_loss_ms=4.0, after_loss_share=0.1)
    every = (
        (2, Constraints()),
        (2, lost),
        (5, lost),
        (3, near),
        (3, replace(near, survive_loss=True)),
    )
    study.recommend(2, None, Effort(plain_cells=0))
    # So many sets of so many regions are bounded before they are listed.
    many = tuple(map(str, range(26)))
    wide = replace(samples, regions=many, values=np.tile(values, (5, 1, 1))[:26])
    worst = Study(replace(wide, groups=("a", "b") * 5), Objective(worst_group=True))
    for size, asked in ((2, None), (5, None), (5, lost)):
        worst.recommend(size, asked)
    return [(samples, study.recommend(size, asked), asked) for size, asked in every]


def exact_value(
    costs: Costs, members: tuple[int, ...], share: Fraction | None, *, survive_loss: bool = False
) -> Fraction | None:
    """Return a set's exact value in units of cost; None if it answers nothing."""
    if survive_loss:
        rests = [tuple(j for j in members if j != lost) for lost in members]
        found = [exact_value(costs, rest, share) for rest in rests if rest]
        known = [value for value in found if value is not None]
        return max(known) if len(known) == len(members) else None
    least, weights = costs.matrix[list(members)].min(axis=0), costs.weights
    if costs.penalty is None:
        answered = least != NO_ANSWER
        least, weights = least[answered], weights[answered]
    total = int(weights.sum())
    if not total:
        return None
    if share is None:
        return Fraction(int((least.astype(np.int64) * weights).sum()), total)
    order = np.argsort(least, kind="stable")
    reached = np.cumsum(weights[order])
    # The least count that is no less than the share of all weight.
    place = np.searchsorted(reached, -int(-share * total // 1))
    return Fraction(int(least[order[place]]))


def unanswered(samples: Samples, members: Any) -> tuple[int, float]:
    """Return how many counted client-rounds no chosen region answered, and their share by
    weight."""
    gaps = np.isnan(samples.values[list(members)]).all(axis=0) & samples.counted
    return int(gaps.sum()), float(samples.shares[gaps].sum())
