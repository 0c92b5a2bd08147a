"""Bootstrap intervals of recommendations.

Clients and rounds are resampled with replacement, both at once; a client keeps its weight. All sets
are evaluated on the same resamples, so that differences are paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.failures.distance_limits import build_loss_limit, limits_after_loss
from analysis.optimization.model.constraints import Constraints, limit
from analysis.optimization.model.costs import NO_ANSWER
from analysis.optimization.model.objectives import Measure
from analysis.optimization.recommendations import Study
from analysis.optimization.solver.branch_and_bound import sets_of
from analysis.optimization.solver.result import Recommendation

Floats = NDArray[np.float64]

# Up to this many sets of a size, all of them are evaluated; beyond, the known good ones.
MAX_SETS = 300
# Percentiles of the 95 % interval.
INTERVAL = (2.5, 97.5)


@dataclass(frozen=True)
class Draws:
    """The number of bootstrap resamples and the seed."""

    count: int = 200
    seed: int = 1


@dataclass(frozen=True)
class Win:
    """The share of resamples in which a set was the best of its size."""

    regions: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Uncertainty:
    """The bootstrap interval of one size k.

    ``gain_low`` to ``gain_high`` is the interval of the gain over the size before,
    ``beyond_noise`` whether it is above zero. ``complete``: all sets were evaluated.
    """

    k: int
    low: float
    high: float
    wins: tuple[Win, ...]
    complete: bool
    gain_low: float | None = None
    gain_high: float | None = None
    beyond_noise: bool | None = None


def doubt(
    study: Study,
    answers: Sequence[Recommendation],
    constraints: Constraints | None = None,
    draws: Draws | None = None,
) -> list[Uncertainty]:
    """Return the interval of each recommendation, in their order.

    For robust sets, each resample loses the region with the largest loss in it.
    """
    robust = constraints is not None and constraints.survive_loss
    counts = _Resamples(study, draws or Draws(), robust)
    found: list[Uncertainty] = []
    before: Floats | None = None
    for answer in answers:
        if not answer.regions:
            before = None
            continue
        sets, complete = _candidates(study, answer, constraints or Constraints())
        values = np.stack([counts.values(s) for s in sets])
        found.append(_weigh(study, answer, (sets, complete, values), before))
        before = values[0]
    return found


def interval(
    study: Study,
    regions: tuple[str, ...],
    draws: Draws | None = None,
    *,
    survive_loss: bool = False,
) -> Floats:
    """Return one set's values over the resamples, (n_draws,) float64."""
    return _Resamples(study, draws or Draws(), survive_loss).values(_members(study, regions))


# A page evaluates the same samples repeatedly as constraints change.
@lru_cache(maxsize=8)
def _draw(clients: int, rounds: int, draws: Draws) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the counts of clients and rounds per resample, (n_draws, n) int32 each."""
    g = np.random.default_rng(draws.seed)
    counts = [g.multinomial(n, np.full(n, 1 / n), draws.count) for n in (clients, rounds)]
    return counts[0].astype(np.int32), counts[1].astype(np.int32)


class _Resamples:
    """The weights of clients and rounds per resample."""

    def __init__(self, study: Study, draws: Draws, robust: bool = False) -> None:
        self.study, self.robust = study, robust
        samples = study.samples
        drawn = _draw(len(samples.clients), len(samples.rounds), draws)
        self.counted = study.costs.counted.astype(np.float64)
        weight = study.costs.weights.reshape(self.counted.shape).sum(axis=1, dtype=np.float64)
        self.rounds = drawn[1].astype(np.float64)
        # (n_draws, n_clients): the client's weight per counted round of the resample.
        answered = self.rounds @ self.counted.T
        self.clients = np.where(answered > 0, drawn[0] * weight / np.maximum(answered, 1), 0.0)

    def values(self, members: tuple[int, ...]) -> Floats:
        """Return a set's value in every resample, (n_draws,) float64."""
        costs = self.study.costs
        sets = list(combinations(members, len(members) - 1)) if self.robust else [members]
        # A single region leaves nothing after its loss: the whole set is used instead.
        found: Floats = np.max([self._costs(s or members) for s in sets], axis=0)
        values: Floats = found / costs.scale
        return costs.top / costs.scale - values if costs.top else values

    def _costs(self, members: tuple[int, ...]) -> Floats:
        """Return a set's mean or percentile of costs in every resample."""
        costs = self.study.costs
        least = costs.matrix[list(members)].min(axis=0)
        answered = (least != NO_ANSWER) * self.counted.reshape(-1)
        percentile = self.study.objective.percentile
        if percentile is not None:
            return self._percentiles(least, answered, percentile / 100)
        if self.study.groups is not None:
            return self._worst_means(least, answered)
        total = self._sum((least * answered).reshape(self.counted.shape))
        mass = self._sum(answered.reshape(self.counted.shape))
        mean: Floats = total / np.maximum(mass, 1e-300)
        return mean

    def _worst_means(self, least: "NDArray[np.int32]", answered: Floats) -> Floats:
        """Return the largest mean of a group that has weight in the resample."""
        cells, mass = (one.reshape(self.counted.shape) for one in (least * answered, answered))
        found = np.zeros(len(self.clients))
        names = np.array(self.study.samples.groups, dtype=str)
        for name in np.unique(names):
            own = names == name
            weights = self.clients[:, own]
            total, weight = (
                ((weights @ one[own]) * self.rounds).sum(axis=1) for one in (cells, mass)
            )
            found = np.maximum(found, total / np.where(weight > 0, weight, np.inf))
        return found

    def _sum(self, cells: Floats) -> Floats:
        found: Floats = ((self.clients @ cells) * self.rounds).sum(axis=1)
        return found

    def _percentiles(self, least: "NDArray[np.int32]", answered: Floats, share: float) -> Floats:
        order = np.argsort(least, kind="stable")
        client, period = np.divmod(order, self.rounds.shape[1])
        found = np.empty(len(self.clients))
        for draw, (clients, rounds) in enumerate(zip(self.clients, self.rounds, strict=True)):
            reached = np.cumsum(clients[client] * rounds[period] * answered[order])
            place = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
            found[draw] = least[order[min(int(place), order.size - 1)]]
        return found


def _candidates(
    study: Study, answer: Recommendation, constraints: Constraints
) -> tuple[list[tuple[int, ...]], bool]:
    """Return the recommended set first, then all others, or those that are known to be good."""
    names = study.samples.regions
    best = _members(study, answer.regions)
    if sets_of(len(names), answer.k) > MAX_SETS:
        return [best, *(_members(study, s.regions) for s in answer.runners_up)], False
    after = build_loss_limit(study.samples, study.costs, study.objective, constraints)
    limits = limits_after_loss(limit(names, constraints), after)
    every = combinations(range(len(names)), answer.k)
    return [best, *(s for s in every if s != best and limits.allow(s))], True


def _members(study: Study, regions: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(study.samples.regions.index(name) for name in regions))


def _weigh(
    study: Study,
    answer: Recommendation,
    drawn: tuple[list[tuple[int, ...]], bool, Floats],
    before: Floats | None,
) -> Uncertainty:
    sets, complete, values = drawn
    names, faster = study.samples.regions, study.objective.measure is Measure.LATENCY
    winners = (values.argmin if faster else values.argmax)(axis=0)
    share = np.bincount(winners, minlength=len(sets)) / winners.size
    wins = tuple(
        Win(tuple(names[j] for j in sets[a]), float(share[a]))
        for a in np.argsort(-share, kind="stable")
        if share[a] > 0
    )
    low, high = (float(v) for v in np.percentile(values[0], INTERVAL))
    if before is None:
        return Uncertainty(answer.k, low, high, wins, complete)
    gain = before - values[0] if faster else values[0] - before
    ends = tuple(float(v) for v in np.percentile(gain, INTERVAL))
    return Uncertainty(answer.k, low, high, wins, complete, ends[0], ends[1], ends[0] > 0)
