"""Estimate how long statuses of instances last, weighted by time and not by count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HOUR_S = 3600.0
Statuses = Sequence[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch without a change of status; ``whole`` spans everything that was observed."""

    instance: str
    start: float
    seconds: float
    good: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Persistence:
    """Shares of instance-time; the paper saw 0.5, 0.6 and 0.75."""

    unchanged: float
    at_most_daily: float
    at_most_12_hourly: float
    instances: int
    hours: float
    changes: int


@dataclass(frozen=True, slots=True)
class PersistenceTest:
    """Changes beside those of statuses dealt again in every round; few changes mean memory."""

    changes: int
    expected_changes: float
    p_value: float


def find_periods(series: Mapping[str, Statuses]) -> list[Period]:
    """Stretches of one status per instance; a status holds until the next observation."""
    return [period for name, points in series.items() for period in _split(name, sorted(points))]


def _split(name: str, points: list[tuple[float, bool]]) -> list[Period]:
    if len(points) < 2:
        return []
    edges = [0, *(i for i in range(1, len(points)) if points[i][1] != points[i - 1][1])]
    ends = [*(points[i][0] for i in edges[1:]), points[-1][0]]
    return [
        Period(name, points[i][0], end - points[i][0], points[i][1], len(edges) == 1)
        for i, end in zip(edges, ends, strict=True)
    ]


def describe(periods: Sequence[Period]) -> Persistence:
    """Shares of instance-time in periods without change and in long ones."""
    total = sum(period.seconds for period in periods)
    instances = len({period.instance for period in periods})

    def find_share(least_s: float) -> float:
        kept = sum(p.seconds for p in periods if p.whole or p.seconds >= least_s)
        return kept / total if total else float("nan")

    return Persistence(
        find_share(float("inf")),
        find_share(24 * HOUR_S),
        find_share(12 * HOUR_S),
        instances,
        total / HOUR_S,
        len(periods) - instances,
    )


def find_distribution(periods: Sequence[Period]) -> list[tuple[float, float]]:
    """Length in hours and share of instance-time in periods up to it: the paper's figure 3."""
    total, seen, points = sum(period.seconds for period in periods), 0.0, []
    for period in sorted(periods, key=lambda period: (period.whole, period.seconds)):
        seen += period.seconds
        points.append((period.seconds / HOUR_S, seen / total))
    return points


def check_persistence(
    good: NDArray[np.bool_], permutations: int = 1000, seed: int = 0
) -> PersistenceTest:
    """Whether instances keep their status, for a table of rounds by instances.

    Statuses are dealt among the instances of a round, so that a night on which all are bad, or a
    growing share of bad ones, is not taken for persistence.
    """
    rng = np.random.default_rng(seed)
    observed = _count_changes(good)
    permuted = np.array([_count_changes(_permute(good, rng)) for _ in range(permutations)])
    p_value = (1 + int((permuted <= observed).sum())) / (permutations + 1)
    return PersistenceTest(observed, float(permuted.mean()), p_value)


def _count_changes(good: NDArray[np.bool_]) -> int:
    return int((good[1:] != good[:-1]).sum())


def _permute(good: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.asarray(rng.permuted(good, axis=1))
