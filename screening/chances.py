"""Figures in, quantiles and chances of a few distributions out, from special functions alone.

``scipy.stats`` has them too, and takes half a second to load, which every process would pay.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def find_beta_quantile(level: float, a: float, b: float) -> float:
    """The value that a share with a beta distribution stays below with this chance."""
    return float(special.betaincinv(a, b, level))


def find_normal_quantile(level: float | Floats) -> Floats:
    """Standard deviations above the mean that a normal value stays below with this chance."""
    return np.asarray(special.ndtri(level))


def list_binomial_chances(trials: int, share: float) -> Floats:
    """The chance of 0, 1, … up to ``trials`` successes of this share each."""
    n = np.arange(trials + 1.0)
    ways = -np.log(trials + 1) - special.betaln(n + 1, trials - n + 1)
    return np.asarray(np.exp(ways + special.xlogy(n, share) + special.xlog1py(trials - n, -share)))


def find_enough_chance(wanted: int, trials: int, a: float, b: float) -> float:
    """The chance of ``wanted`` successes or more, whose share has a beta distribution."""
    n = np.arange(float(wanted))
    ways = -np.log(trials + 1) - special.betaln(n + 1, trials - n + 1)
    fewer = np.exp(ways + special.betaln(n + a, trials - n + b) - special.betaln(a, b))
    return float(1 - fewer.sum())


def find_kruskal_chance(groups: Iterable[Floats]) -> float:
    """The chance that groups of one distribution differ so much in rank (Kruskal and Wallis)."""
    parts = list(groups)
    values, places, ties = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
    # Equal values share the mean of their ranks.
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[places]
    n = ranks.size
    sums = [own.sum() ** 2 / own.size for own in _split(ranks, [p.size for p in parts])]
    spread = 12 / (n * (n + 1)) * float(sum(sums)) - 3 * (n + 1)
    alike = 1 - float((ties.astype(float) ** 3 - ties).sum()) / (float(n) ** 3 - n)
    return float(special.chdtrc(len(parts) - 1, spread / alike)) if values.size > 1 else 1.0


def _split(ranks: Floats, sizes: list[int]) -> list[Floats]:
    return np.split(ranks, np.cumsum(sizes)[:-1])
