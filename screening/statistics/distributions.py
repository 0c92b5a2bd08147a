"""Compute quantiles and probabilities of a few distributions.

``scipy.stats`` takes half a second to load, which a process pays at the first chance that it needs
and not at its start; quantiles are special functions, and need no more than those.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

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
    return np.asarray(_stats().binom.pmf(np.arange(trials + 1), trials, share))


def find_enough_chance(wanted: int, trials: int, a: float, b: float) -> float:
    """The chance of ``wanted`` successes or more, with a beta distributed share."""
    return float(_stats().betabinom(trials, a, b).sf(wanted - 1))


def find_kruskal_chance(groups: Iterable[Floats]) -> float:
    """The chance that groups of one distribution differ so much in rank (Kruskal and Wallis)."""
    parts = list(groups)
    if not np.ptp(np.concatenate(parts)):
        return 1.0
    return float(_stats().kruskal(*parts).pvalue)


def _stats() -> Any:
    return import_module("scipy.stats")
