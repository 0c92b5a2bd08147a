"""Find the time of day at which stalls recur over days.

Each day is turned by a random amount to see what chance would give, so that bursts inside a day
stay as they are and only their return at the same time counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput

DAY_S = 86_400
FEWEST_DAYS = 3
# Length of a bin of the day, seconds.
BIN_S = 600
# Bins grow by these factors, to six hours, until nearly all of a day is measured.
FACTORS = (1, 2, 3, 6, 12, 18, 36)
# A day counts when at least this share of its bins was measured.
FEWEST_MEASURED = 0.9
# On a day that counts the window has at least so many times the stalls of the day's rest.
FEWEST_TIMES = 1.5
# Turned days that are looked at together.
AT_ONCE = 100
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


def bin_stalls(
    times: Sequence[float], start: float, days: int, minutes: int = BIN_S // 60
) -> Floats:
    """Stalls per day and bin of the day; ``start`` is a midnight (UTC), seconds since the epoch."""
    bins = DAY_S // (60 * minutes)
    edges = start + np.arange(days * bins + 1) * 60 * minutes
    counts, _ = np.histogram(np.asarray(times, dtype=float), bins=edges)
    return counts.reshape(days, bins).astype(float)


def rate_stalls(stalls: Mapping[int, int], measured_s: Mapping[int, float]) -> Floats:
    """Stalls per bin and day as if every bin had been measured for all of its time.

    Keys count bins of ``BIN_S`` since the epoch. Bins grow until nearly all of a day is measured:
    gaps at the same time of every day would look like a rhythm. Days with more gaps are left out.
    """
    seen = {at * BIN_S // DAY_S for at in measured_s}
    for factor in FACTORS:
        found = _rate_days(stalls, measured_s, factor)
        if len(found) >= max(FEWEST_DAYS, len(seen) / 2):
            break
    return found


def _rate_days(stalls: Mapping[int, int], measured_s: Mapping[int, float], factor: int) -> Floats:
    length_s = BIN_S * factor
    per_day = DAY_S // length_s
    count: dict[int, Floats] = {}
    time_s: dict[int, Floats] = {}
    for at, seconds in measured_s.items():
        day, place = divmod(at // factor, per_day)
        count.setdefault(day, np.zeros(per_day))[place] += stalls.get(at, 0)
        time_s.setdefault(day, np.zeros(per_day))[place] += seconds
    kept = [day for day in sorted(count) if (time_s[day] > 0).mean() >= FEWEST_MEASURED]
    rates = [
        np.where(
            time_s[day] > 0,
            count[day] / np.maximum(time_s[day], 1.0),
            count[day].sum() / time_s[day].sum(),
        )
        for day in kept
    ]
    return length_s * np.array(rates).reshape(len(kept), per_day)


def detect_nightly(
    counts: Floats, alpha: float = 0.01, permutations: int = 2000, seed: int = 0
) -> Nightly:
    """The window of the day that is elevated on most days; BadInput with less than three days."""
    days, bins = counts.shape
    if days < FEWEST_DAYS:
        raise BadInput(
            f"a return every night needs {FEWEST_DAYS} days or more with runs at least every six "
            f"hours, not {days}"
        )
    levels = np.log1p(counts)
    observed = levels.mean(axis=0)
    highest = _find_peaks(levels, permutations, np.random.default_rng(seed))
    p_value = (1 + int((highest >= observed.max() - 1e-12).sum())) / (permutations + 1)
    first, last = _widen(observed)
    inside = [at % bins for at in range(first, last + 1)]
    outside = np.setdiff1d(np.arange(bins), inside)
    peaks = counts[:, inside].mean(axis=1)
    rest = counts[:, outside].mean(axis=1) if len(outside) else peaks
    minutes = DAY_S // 60 // bins
    seen = int((peaks > FEWEST_TIMES * rest).sum())
    return Nightly(
        p_value <= alpha and 2 * seen > days,
        first % bins * minutes,
        (last % bins + 1) * minutes,
        float((peaks.mean() + 0.01) / (rest.mean() + 0.01)),
        seen,
        days,
        p_value,
    )


def _find_peaks(levels: Floats, permutations: int, rng: np.random.Generator) -> Floats:
    """The highest mean of a bin, each time that every day was turned by a random amount."""
    days, bins = levels.shape
    found = []
    for first in range(0, permutations, AT_ONCE):
        turns = min(AT_ONCE, permutations - first)
        at = (np.arange(bins) + rng.integers(bins, size=(turns, days, 1))) % bins
        found.append(levels[np.arange(days)[None, :, None], at].mean(axis=1).max(axis=1))
    return np.concatenate(found)


def _widen(observed: Floats) -> tuple[int, int]:
    peak, bins = int(observed.argmax()), len(observed)
    level = (observed.max() + np.median(observed)) / 2
    first = last = peak
    while last - first < bins - 1 and observed[(first - 1) % bins] >= level:
        first -= 1
    while last - first < bins - 1 and observed[(last + 1) % bins] >= level:
        last += 1
    return first, last
