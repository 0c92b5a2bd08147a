"""Shifts of the level within one series of rounds, found as the rounds come.

A run of rounds that lies beyond nearly all rounds before it is a shift (precedence test, Nelson
1963); only ranks count. ``docs/methods/change-points.md`` has the derivation and the error rates.

Example: ``for shift in find_shifts(medians_ms): print(shift.at, shift.shift_ms)``.
"""

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

from analysis.campaigns.tables.level_shift_kernel import (
    MAX_BEFORE,
    MIN_SHIFT_MS,
    MIN_SHIFT_SHARE,
    find_runs,
)

Floats = npt.NDArray[np.float64]
# Probability that a round, together with those before it, is called a shift although all rounds
# are alike: at most one false alarm in 1,000 days of a pair with a round each seven minutes.
FALSE_ALARMS_PER_ROUND = 5e-6
SHORTEST_RUN, LONGEST_RUN = 3, 24
# Rounds of the level that a run need not exceed: spikes do not hide a shift.
MAX_EXCEPTIONS = MAX_BEFORE // 10
# Fewer show no shift, whatever their values are.
MIN_ROUNDS = 34
# Two-sided 95 % of a normal distribution.
_DEVIATIONS_95 = 1.96


@dataclass(frozen=True, slots=True)
class LevelShift:
    """A shift of the median: ``at`` is the first round after it, ``found`` the one that shows it.

    Both are indices of the series. ``n_before`` and ``n_after`` rounds give the medians;
    ``low_ms`` and ``high_ms`` are the 95 % interval of ``shift_ms``.
    """

    at: int
    found: int
    before_ms: float
    after_ms: float
    shift_ms: float
    low_ms: float
    high_ms: float
    n_before: int
    n_after: int


def find_shifts(values: Floats) -> list[LevelShift]:
    """Find the shifts of a series (n,) of latencies (ms) in the order of rounds, without NaN."""
    values = np.ascontiguousarray(values, np.float64)
    if len(values) < MIN_ROUNDS:
        return []
    runs = find_runs(values, _needed_lengths()).tolist()
    while True:
        edges = [0, *(at for at, _ in runs), len(values)]
        shifts = [
            _describe(values, at, found, edges[i], edges[i + 2])
            for i, (at, found) in enumerate(runs)
        ]
        lasting = [run for run, shift in zip(runs, shifts, strict=True) if _lasts(shift)]
        if len(lasting) == len(runs):
            return shifts
        runs = lasting


def _lasts(shift: LevelShift) -> bool:
    """Return whether the level stayed away: a few slow rounds are not a new level."""
    least = max(MIN_SHIFT_MS, MIN_SHIFT_SHARE * shift.before_ms)
    return abs(shift.shift_ms) >= least and (shift.shift_ms > 0) == (
        shift.after_ms > shift.before_ms
    )


@cache
def _needed_lengths() -> npt.NDArray[np.int64]:
    """Length of the shortest run that is no chance, by rounds before and exceptions; 0 for none.

    Of n + m alike values in random order, the chance that all of the last m exceed all but c of
    the n before is C(c + m, m) / C(n + m, m). Each length m has the error rate 2^(2 - m) / 4 of
    the whole, for either direction.
    """
    needed = np.zeros((MAX_BEFORE + 1, MAX_EXCEPTIONS + 1), np.int64)
    for n in range(1, MAX_BEFORE + 1):
        shortest = SHORTEST_RUN
        # More exceptions never need a shorter run.
        for exceptions in range(min(MAX_EXCEPTIONS, n // 10) + 1):
            shortest = next(
                (
                    m
                    for m in range(shortest, LONGEST_RUN + 1)
                    if comb(exceptions + m, m) * 2 ** (m - 1)
                    <= FALSE_ALARMS_PER_ROUND * comb(n + m, m)
                ),
                0,
            )
            if not shortest:
                break
            needed[n, exceptions] = shortest
    return needed


def _describe(values: Floats, at: int, found: int, first: int, end: int) -> LevelShift:
    before, after = values[max(first, at - MAX_BEFORE) : at], values[at : min(end, at + MAX_BEFORE)]
    shift, low, high = _hodges_lehmann(before, after)
    return LevelShift(
        at,
        found,
        float(np.median(before)),
        float(np.median(after)),
        shift,
        low,
        high,
        len(before),
        len(after),
    )


def _hodges_lehmann(before: Floats, after: Floats) -> tuple[float, float, float]:
    """Return the median of all differences (ms), and its 95 % interval by ranks (Lehmann 1963)."""
    differences = np.sort(np.subtract.outer(after, before), axis=None)
    n, m = len(before), len(after)
    spread = _DEVIATIONS_95 * (n * m * (n + m + 1) / 12) ** 0.5
    low = max(0, int(n * m / 2 - spread))
    return (
        float(np.median(differences)),
        float(differences[low]),
        float(differences[len(differences) - 1 - low]),
    )
