"""Stalls over days in, the time of day at which they return out.

Each day is turned by a random amount to see what chance would give, so that bursts inside a day
stay as they are and only their return at the same time counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput

DAY_S = 86_400
FEWEST_DAYS = 3
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Nightly:
    """A window of the day (UTC minutes) in which stalls return; ``days`` saw it of ``of_days``."""

    found: bool
    start_minute: int
    end_minute: int
    ratio: float
    days: int
    of_days: int
    p_value: float


def bin_stalls(times: Sequence[float], start: float, days: int, minutes: int = 10) -> Floats:
    """Stalls per day and bin of the day; ``start`` is a midnight (UTC), seconds since the epoch."""
    bins = DAY_S // (60 * minutes)
    edges = start + np.arange(days * bins + 1) * 60 * minutes
    counts, _ = np.histogram(np.asarray(times, dtype=float), bins=edges)
    return counts.reshape(days, bins).astype(float)


def detect_nightly(
    counts: Floats, alpha: float = 0.01, permutations: int = 2000, seed: int = 0
) -> Nightly:
    """The window of the day that stands out on most days; BadInput with less than three days."""
    days, bins = counts.shape
    if days < FEWEST_DAYS:
        raise BadInput(f"a return every night needs {FEWEST_DAYS} days or more, not {days}")
    levels = np.log1p(counts)
    observed = levels.mean(axis=0)
    rng = np.random.default_rng(seed)
    highest = np.array([_turn(levels, rng).mean(axis=0).max() for _ in range(permutations)])
    p_value = (1 + int((highest >= observed.max() - 1e-12).sum())) / (permutations + 1)
    first, last = _widen(observed)
    inside = [at % bins for at in range(first, last + 1)]
    outside = np.setdiff1d(np.arange(bins), inside)
    rest = counts[:, outside].mean(axis=1)
    peaks = counts[:, inside].mean(axis=1)
    minutes = DAY_S // 60 // bins
    return Nightly(
        p_value <= alpha, first % bins * minutes, (last % bins + 1) * minutes,
        float((peaks.mean() + 0.01) / (rest.mean() + 0.01)), int((peaks > 2 * rest).sum()), days,
        p_value,
    )  # fmt: skip


def _turn(levels: Floats, rng: np.random.Generator) -> Floats:
    days, bins = levels.shape
    shifts = rng.integers(bins, size=(days, 1))
    return np.asarray(np.take_along_axis(levels, (np.arange(bins) + shifts) % bins, axis=1))


def _widen(observed: Floats) -> tuple[int, int]:
    peak, bins = int(observed.argmax()), len(observed)
    level = (observed.max() + np.median(observed)) / 2
    first = last = peak
    while last - first < bins - 1 and observed[(first - 1) % bins] >= level:
        first -= 1
    while last - first < bins - 1 and observed[(last + 1) % bins] >= level:
        last += 1
    return first, last
