"""Verify a recommendation against its samples, independently of the search.

The boxes of the proof must cover every set; each is bounded again from its multipliers, or its sets
are enumerated.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.constraints import Constraints, Facts, limit
from analysis.optimization.model.costs import Costs, cost
from analysis.optimization.model.objectives import Measure, Missing, Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.solver.certificate import GroupProof
from analysis.optimization.solver.result import Recommendation
from analysis.optimization.verification.box_checks import PAIR, BoxChecker, Far
from analysis.optimization.verification.deadlines import Deadline
from analysis.optimization.verification.group_checks import GroupChecker

Floats = NDArray[np.float64]

# Relative tolerance of float means, besides the stated rounding.
FLOAT_SHARE = 1e-9
# A largest group mean is proven up to this share of it.
PROVEN_SHARE = 3e-8


def check(
    samples: Samples,
    answer: Recommendation,
    objective: Objective | None = None,
    constraints: Constraints | None = None,
    until: float | None = None,
) -> list[str]:
    """Return the errors of a recommendation, empty if it holds; raise BadInput.

    Raise UnfinishedCheck if there is more to check at ``until``, by the monotonic clock.
    """
    objective, constraints = objective or Objective(), constraints or Constraints()
    if answer.value is None or answer.proof is None:
        return ["there is no proof to check"]
    wrong = [*_check_set(samples, answer, constraints), *_check_loss(samples, answer, constraints)]
    found = measure(samples, answer.regions, objective, survive_loss=constraints.survive_loss)
    if found is None or abs(found - answer.value) > _slack(answer):
        wrong.append(f"the value is {found}, not {answer.value}")
    if wrong:
        return wrong
    costs = cost(samples, objective)
    if constraints.survive_loss or constraints.after_loss_ms is not None:
        costs = costs.filled()
    limits = limit(samples.regions, constraints)
    if isinstance(answer.proof, GroupProof):
        groups, deadline = samples.groups, Deadline(until)
        return _check_floor(costs, answer, answer.proof) or (
            GroupChecker(costs, groups, limits, answer.proof, deadline).run()
        )
    far = _far(samples, costs, constraints)
    if far is not None and answer.k == PAIR:
        # A loss leaves one region of a pair, so no set has a region that violates the limit alone.
        outside = far.wide(costs.weights).union(limits.outside)
        limits = replace(limits, outside=tuple(sorted(outside)))
    examiner = BoxChecker(costs, limits, answer.proof, _share(objective), far, Deadline(until))
    wrong += _check_claims(samples, costs, answer, examiner)
    return wrong or examiner.run()


def _check_floor(costs: Costs, answer: Recommendation, proof: GroupProof) -> list[str]:
    """Check that value and bound are implied by the floor of a largest group mean."""
    slack = _slack(answer) * costs.scale + PROVEN_SHARE * proof.floor
    own = [answer.value or 0.0, answer.value if answer.bound is None else answer.bound]
    for claimed, name in zip(own, ("value", "bound"), strict=True):
        cost = (
            (costs.top - (claimed or 0.0) * costs.scale)
            if costs.top
            else (claimed or 0.0) * (costs.scale)
        )
        if cost > proof.floor + slack:
            return [f"the proof does not reach the {name}"]
    return []


def measure(
    samples: Samples, regions: tuple[str, ...], objective: Objective, *, survive_loss: bool = False
) -> float | None:
    """Return a set's value from the samples, by definition."""
    members = [samples.regions.index(name) for name in regions]
    worst = max if objective.measure is Measure.LATENCY else min
    if survive_loss:
        rests = combinations(members, len(members) - 1)
        found = [_value(samples, list(rest), objective) for rest in rests]
        known = [value for value in found if value is not None]
        return worst(known) if len(known) == len(found) else None
    return _value(samples, members, objective)


def _value(samples: Samples, members: list[int], objective: Objective) -> float | None:
    values = samples.values[members].astype(np.float64)
    counted, weights = _weigh_points(samples)
    faster = objective.measure is Measure.LATENCY
    best = (np.fmin if faster else np.fmax).reduce(values, axis=0)
    gaps = np.isnan(best)
    if objective.worst_group:
        return _worst_mean(samples, best, (weights, counted), objective)
    if objective.missing is Missing.EXCLUDE:
        best, weights = best[~gaps], weights[~gaps]
    else:
        best, weights, gaps = best[counted], weights[counted], gaps[counted]
        best = np.where(gaps, _penalty(samples, objective), best)
    if weights.sum() <= 0:
        return None
    if objective.percentile is None:
        return float((best * weights).sum() / weights.sum())
    return _percentile(best.ravel(), weights.ravel(), objective.percentile / 100, faster)


def _penalty(samples: Samples, objective: Objective) -> float:
    if objective.penalty is not None:
        return objective.penalty
    is_latency = objective.measure is Measure.LATENCY
    return float(np.nanmax(samples.values)) if is_latency else 0.0


def _worst_mean(
    samples: Samples, best: Floats, points: tuple[Floats, Any], objective: Objective
) -> float:
    """Return the worst of the groups' means, by definition."""
    weights, counted = points
    filled = np.where(np.isnan(best), _penalty(samples, objective), best)
    filled = np.where(counted, filled, 0.0)
    means = []
    for name in set(samples.groups):
        own = [i for i, group in enumerate(samples.groups) if group == name]
        total = float(weights[own].sum())
        if total > 0:
            means.append(float((filled[own] * weights[own]).sum()) / total)
    return max(means) if objective.measure is Measure.LATENCY else min(means)


def _weigh_points(samples: Samples) -> tuple[NDArray[np.bool_], Floats]:
    """Return which client-rounds some region answered, and each one's part of its client's
    weight."""
    counted = np.zeros(samples.values.shape[1:], bool)
    for plane in samples.values:
        counted |= np.isfinite(plane)
    rounds = counted.sum(axis=1, keepdims=True)
    return counted, np.where(counted, samples.weights[:, None] / np.maximum(rounds, 1), 0.0)


def _percentile(best: Floats, weights: Floats, share: float, faster: bool) -> float:
    order = np.argsort(best if faster else -best, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-12)))
    return float(best[order[min(place, order.size - 1)]])


def _slack(answer: Recommendation) -> float:
    return 2 * answer.rounding + FLOAT_SHARE * max(abs(answer.value or 0.0), 1.0)


def _share(objective: Objective) -> Fraction | None:
    return None if objective.percentile is None else Fraction(str(objective.percentile)) / 100


def _check_set(samples: Samples, answer: Recommendation, c: Constraints) -> list[str]:
    """Check the recommended names against the constraints, by name."""
    chosen = set(answer.regions)
    facts = [c.facts.get(name, Facts()) for name in answer.regions]
    kinds = [f.provider for f in facts]
    places = [{name, f.country, f.continent, f.provider} - {""} for name, f in c.facts.items()]
    here = dict(zip(c.facts, places, strict=True))
    homes = c.countries | c.continents
    rules = {
        "the set has not k known regions": len(chosen) == answer.k == len(answer.regions)
        and chosen <= set(samples.regions),
        "a region that must be in is not": c.include <= chosen,
        "a region that must not be in is": not c.exclude & chosen,
        "a provider is not allowed": not c.providers or set(kinds) <= c.providers,
        "a provider has too many": c.per_provider is None
        or all(kinds.count(kind) <= c.per_provider for kind in kinds),
        "a region is outside the allowed places": not homes
        or all(homes & {f.country, f.continent} for f in facts),
        "a region has too few zones": c.min_zones is None
        or all((f.zones or 0) >= c.min_zones for f in facts),
        "a region has too few ISPs": c.min_isps is None
        or all((f.isps or 0) >= c.min_isps for f in facts),
        "a region is above the limit of carbon": c.max_carbon is None
        or all(
            f.carbon_g_per_kwh is not None and f.carbon_g_per_kwh <= c.max_carbon for f in facts
        ),
        "a group lacks members": all(
            sum(bool(p.within & here.get(name, {name})) for name in chosen) >= p.at_least
            for p in c.presence
        ),
        "the price is above the ceiling": c.price_ceiling is None
        or sum(Fraction(str(f.price)) for f in facts) <= Fraction(str(c.price_ceiling)),
    }
    return [text for text, holds in rules.items() if not holds]


def _check_loss(samples: Samples, answer: Recommendation, c: Constraints) -> list[str]:
    """Check the weight above the latency limit after each loss."""
    if c.after_loss_ms is None:
        return []
    members = [samples.regions.index(name) for name in answer.regions]
    weights = _weigh_points(samples)[1]
    for rest in combinations(members, len(members) - 1):
        near = (samples.values[list(rest)] <= c.after_loss_ms).any(axis=0)
        if float(weights[~near].sum() / weights.sum()) > c.after_loss_share + FLOAT_SHARE:
            return ["clients are too far after a loss"]
    return []


def _far(samples: Samples, costs: Costs, c: Constraints) -> Far | None:
    if c.after_loss_ms is None:
        return None
    cells = ~(samples.values <= c.after_loss_ms).reshape(len(samples.regions), -1)
    most = Fraction(str(c.after_loss_share)) * costs.total_weight
    return Far(cells, int(most))


def _check_claims(
    samples: Samples, costs: Costs, answer: Recommendation, examiner: BoxChecker
) -> list[str]:
    """Check that value and bound are implied by the proof's floor."""
    members = tuple(samples.regions.index(name) for name in answer.regions)
    own, floor = examiner.exact(members), examiner.floor_value()
    if any(examiner.exact(s) < own for s in examiner.proof.listed if examiner.answers(s)):
        return ["a set that the proof lists is better"]
    bound = min(own, floor)
    if answer.proven and bound < own:
        return ["the proof does not reach the value"]
    claimed = answer.bound if answer.bound is not None else answer.value
    if claimed is None or costs.top:
        claimed = costs.top / costs.scale - (claimed or 0.0)
    if claimed * costs.scale > float(bound) * (1 + FLOAT_SHARE) + 1e-6:
        return ["the proof does not reach the bound"]
    return []
