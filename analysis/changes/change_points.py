"""Change points in series of latencies, by the test of Pettitt (1979).

The test uses ranks only, so that its error rate does not depend on the distribution of latencies.
``docs/methods/change-points.md`` has the derivation and the simulated error rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# Probability that one comparison of a run reports any change of latency although there is none.
FAMILY_ERROR_RATE = 0.01
# Smaller shifts are not reported, however certain they are.
MIN_SHIFT_MS = 1.0
MIN_SHIFT_SHARE = 0.05
# Neighbouring rounds are correlated, so that more values of a run add little.
MAX_VALUES_PER_RUN = 24
MIN_VALUES = 12
_MAX_CORRELATION = 0.9


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A shift of the median in a series: ``at`` is the first index after it."""

    at: int
    before_ms: float
    after_ms: float
    p_value: float


def thin(values: Floats) -> Floats:
    """Medians of at most ``MAX_VALUES_PER_RUN`` consecutive blocks of a run's rounds (ms)."""
    known = values[np.isfinite(values)]
    if len(known) <= MAX_VALUES_PER_RUN:
        return known
    return np.array([np.median(part) for part in np.array_split(known, MAX_VALUES_PER_RUN)])


def find_change_point(runs: Sequence[Floats]) -> ChangePoint | None:
    """The likeliest change point in the values of consecutive runs, whatever its p value.

    ``runs`` holds one array of latencies (ms) for each run, in order. None below ``MIN_VALUES``
    values, or where the series is constant. ``p_value`` allows for the serial correlation within
    runs.
    """
    series = np.concatenate(runs) if runs else np.empty(0)
    n = len(series)
    if n < MIN_VALUES or np.ptp(series) == 0:
        return None
    ranks = mean_ranks(series)
    steps = np.arange(1, n)
    statistic = np.abs(2 * np.cumsum(ranks)[:-1] - steps * (n + 1))
    at = int(np.argmax(statistic)) + 1
    exponent = 6 * float(statistic[at - 1]) ** 2 / (n**3 + n**2)
    correlation = serial_correlation(runs)
    p_value = min(1.0, 2 * math.exp(-exponent * (1 - correlation) / (1 + correlation)))
    before, after = float(np.median(series[:at])), float(np.median(series[at:]))
    return ChangePoint(at, before, after, p_value)


def mean_ranks(values: Floats) -> Floats:
    """Return ranks from 1, equal values sharing the mean of theirs.

    ``scipy.stats.rankdata`` gives the same; its import takes longer than any comparison.
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def serial_correlation(runs: Sequence[Floats]) -> float:
    """The lag-1 correlation of ranks within runs, from 0 to 0.9, corrected for its small-sample
    bias (Marriott and Pope 1954). A shift between runs does not add to it."""
    products = squares = 0.0
    n = pairs = 0
    for run in runs:
        if len(run) < 3:
            continue
        centred = mean_ranks(run) / len(run)
        centred = centred - centred.mean()
        products += float(centred[:-1] @ centred[1:])
        squares += float(centred @ centred)
        n, pairs = n + len(run), pairs + 1
    if not squares:
        return 0.0
    raw = products / squares
    mean_length = n / pairs
    return float(np.clip(raw + (1 + 3 * max(raw, 0.0)) / mean_length, 0.0, _MAX_CORRELATION))


def find_changes(
    series: Mapping[Any, Sequence[Floats]], error_rate: float = FAMILY_ERROR_RATE
) -> dict[Any, ChangePoint]:
    """The change points of many series that are certain enough and large enough.

    The probability of any false one among all series is at most ``error_rate`` (Bonferroni).
    """
    found = {key: point for key, runs in series.items() if (point := find_change_point(runs))}
    return {
        key: point
        for key, point in found.items()
        if point.p_value * len(found) <= error_rate and is_relevant(point)
    }


def is_relevant(point: ChangePoint) -> bool:
    """Whether a shift is large enough to be reported."""
    shift = abs(point.after_ms - point.before_ms)
    return shift >= max(MIN_SHIFT_MS, MIN_SHIFT_SHARE * point.before_ms)
