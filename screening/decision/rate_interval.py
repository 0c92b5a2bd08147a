"""Estimate the rate of stalls with a confidence interval; stalls are overdispersed.

The interval is Poisson's on a number of stalls that is divided by the dispersion of the counts in
blocks (a negative binomial with a variance that is a multiple of its mean).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

WINDOW_S = 100.0
BLOCKS_S = (0.5, 1.0, 2.0, 5.0, 10.0)
# The variance of fewer blocks cannot be estimated.
FEWEST_BLOCKS = 10


@dataclass(frozen=True, slots=True)
class Rate:
    """Stalls per 100 s with an interval; ``dispersion`` is 1 for stalls that come one by one."""

    count: int
    seconds: float
    per_100s: float
    low: float
    high: float
    dispersion: float
    level: float

    def find_chance_below(self, mark: float) -> float:
        """How probable it is that the true rate is at most ``mark`` (Jeffreys' prior)."""
        shape = self.count / self.dispersion + 0.5
        scale = self.dispersion * WINDOW_S / self.seconds
        return float(special.gammainc(shape, mark / scale))


def estimate_rate(times_s: Sequence[float], seconds: float, level: float = 0.9) -> Rate:
    """Rate of stalls at ``times_s`` within a run of ``seconds``."""
    count, dispersion = len(times_s), find_dispersion(times_s, seconds)
    low, high = find_interval(count / dispersion, level)
    scale = WINDOW_S / seconds
    return Rate(
        count,
        seconds,
        count * scale,
        low * dispersion * scale,
        high * dispersion * scale,
        dispersion,
        level,
    )


def find_interval(count: float, level: float) -> tuple[float, float]:
    """Garwood's interval of a Poisson mean, also for a count that is not a whole number."""
    tail = (1 - level) / 2
    low = float(special.gammaincinv(count, tail)) if count > 0 else 0.0
    return low, float(special.gammaincinv(count + 1, 1 - tail))


def find_dispersion(times_s: Sequence[float], seconds: float) -> float:
    """Largest ratio of variance to mean over several lengths of block, at least 1."""
    times, found = np.asarray(times_s, dtype=float), [1.0]
    for block_s in BLOCKS_S:
        blocks = int(seconds // block_s)
        if blocks < FEWEST_BLOCKS or not len(times):
            continue
        at = (times / block_s).astype(np.int64)
        counts = np.bincount(at[at < blocks], minlength=blocks)
        if counts.any():
            found.append(float(counts.var(ddof=1) / counts.mean()))
    return max(found)
