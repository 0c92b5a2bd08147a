"""Marginal value of regions, value of routing, and regret of a current deployment."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.costs import NO_ANSWER
from analysis.optimization.model.objectives import Measure
from analysis.optimization.model.samples import Samples
from analysis.optimization.recommendations import Study
from analysis.optimization.solver.result import Recommendation
from core.errors import BadInput

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Margin:
    """The marginal value of a region: the value without it if chosen, with it if not."""

    region: str
    chosen: bool
    value: float | None
    worth: float | None


@dataclass(frozen=True)
class Routing:
    """A set's value if each client may change its region every round, and if it may not."""

    per_round: float
    static: float
    regions: tuple[str | None, ...]


@dataclass(frozen=True)
class Regret:
    """The regret of the current deployment against the best set; ``lost`` is at least 0."""

    current: float
    best: float
    lost: float
    proven: bool


def margins(study: Study, regions: tuple[str, ...]) -> list[Margin]:
    """Return each region's marginal value for a set, chosen regions first, by descending worth."""
    here = study.value_of(regions)
    found = [_margin(study, regions, name, here) for name in study.samples.regions]
    return sorted(found, key=lambda m: (not m.chosen, -(m.worth or 0.0), m.region))


def shares_far(samples: Samples, regions: tuple[str, ...], limit_ms: float) -> dict[str, float]:
    """Give, by the region that is lost, the share of weight above a limit or without an answer."""
    near = {name: samples.values[samples.regions.index(name)] <= limit_ms for name in regions}
    none = np.zeros(samples.values.shape[1:], bool)
    found = {}
    for lost in regions:
        left = [near[name] for name in regions if name != lost]
        reached = np.logical_or.reduce(left, axis=0) if left else none
        found[lost] = float(samples.shares[~reached].sum())
    return found


def route(study: Study, regions: tuple[str, ...]) -> Routing:
    """Return a set's mean for per-round and for static routing; raise BadInput for percentiles.

    Statically, a client keeps the region that is best for it in the mean of all counted rounds,
    where a round without an answer costs the penalty of the objective.
    """
    if study.objective.percentile is not None:
        raise BadInput("routing is compared by means", field="percentile")
    means, answered = client_means(study, regions)
    best = np.argmin(np.where(np.isnan(means), np.inf, means), axis=0)
    clients = np.arange(means.shape[1])
    value, share = means[best, clients], answered[best, clients]
    weights = study.costs.weights.reshape(study.costs.counted.shape).sum(axis=1) * share
    total = float(np.nansum(value * weights)) / float(weights.sum())
    names = tuple(None if np.isnan(v) else regions[b] for b, v in zip(best, value, strict=True))
    per_round = study.value_of(regions)
    return Routing(per_round or 0.0, study.costs.value_of(total), names)


def static_study(study: Study) -> Study:
    """Return the same question for static routing, where a client's value is its mean over
    rounds."""
    everyone = study.samples.regions
    means, _ = client_means(study, everyone)
    values = study.costs.top - means if study.costs.top else means
    samples = Samples(
        everyone,
        study.samples.clients,
        ("all",),
        (values / study.costs.scale)[:, :, None],
        study.samples.weights,
    )
    return Study(samples, replace(study.objective, penalty=None))


def regret(study: Study, current: tuple[str, ...], best: Recommendation) -> Regret:
    """Return what a deployment loses to a recommendation; raise BadInput if either answers none."""
    here = study.value_of(current)
    if here is None or best.value is None:
        raise BadInput("the deployment answers no client", field="current")
    worse = here - best.value
    lost = -worse if study.objective.measure is Measure.THROUGHPUT else worse
    return Regret(here, best.value, max(lost, 0.0), best.proven)


def _margin(study: Study, regions: tuple[str, ...], name: str, here: float | None) -> Margin:
    chosen = name in regions
    value = study.value_without(regions, name) if chosen else study.value_of((*regions, name))
    if value is None or here is None:
        return Margin(name, chosen, value, None)
    gain = value - here if chosen else here - value
    worth = -gain if study.objective.measure is Measure.THROUGHPUT else gain
    return Margin(name, chosen, value, worth)


def client_means(study: Study, regions: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return cost per region and client over rounds with a cost, and their share of the counted."""
    costs, counted = study.costs, study.costs.counted
    rows = [study.samples.regions.index(name) for name in regions]
    counts = np.empty((len(rows), len(counted)))
    means = np.empty_like(counts)
    for a, j in enumerate(rows):
        cells = costs.matrix[j].reshape(counted.shape)
        answered = (cells != NO_ANSWER) & counted
        counts[a] = answered.sum(axis=1)
        total = np.where(answered, cells, 0).sum(axis=1, dtype=np.float64)
        means[a] = np.where(counts[a] > 0, total / np.maximum(counts[a], 1), np.nan)
    return means, counts / np.maximum(counted.sum(axis=1), 1)
