"""Estimate how reliable the votes of a prefix are: labels may be wrong, prefixes may be shared.

The result is the probability of each zone for one more address of a prefix, averaged over all
rates of wrong labels and shared prefixes in proportion to how well each explains the votes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

Floats = NDArray[np.float64]
_NOISE = np.array([0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
_MIXED = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 0.6])
# Before any vote: about one label in fifty wrong, about one prefix in thirty shared.
_PRIOR = (-50.0 * _NOISE)[:, None] + (-30.0 * _MIXED)[None, :]
# A shared prefix is rarely shared evenly, hence less than one vote per zone.
_SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class Purity:
    """Weights of (noise, mixed) pairs; ``noise`` and ``mixed`` are their means."""

    weights: Floats
    noise: float
    mixed: float


def fit_purity(votes: Floats) -> Purity:
    """Rates of wrong labels and of shared prefixes that explain ``votes`` (prefixes by zones)."""
    voted = votes[votes.sum(axis=1) > 1]
    weights = _PRIOR.copy()
    if len(voted) and voted.shape[1] > 1:
        rows, times = np.unique(voted, axis=0, return_counts=True)
        pure, shared = _evidence(rows)
        for m, mixed in enumerate(_MIXED):
            both = np.logaddexp(np.log1p(-mixed) + pure, np.log(mixed) + shared[None, :])
            weights[:, m] += both @ times
    weights = np.exp(weights - logsumexp(weights))
    noise = float(weights.sum(axis=1) @ _NOISE)
    return Purity(weights, noise, float(weights.sum(axis=0) @ _MIXED))


def zone_shares(votes: Floats, purity: Purity) -> Floats:
    """Probability of each zone, for one more address in each row's prefix."""
    if votes.shape[1] < 2 or not len(votes):
        return np.ones_like(votes)
    # Most prefixes of a large survey have the same few votes as another.
    rows, place = np.unique(votes, axis=0, return_inverse=True)
    shares: Floats = _shares_of(rows, purity)[place.reshape(-1)]
    return shares


def _shares_of(votes: Floats, purity: Purity) -> Floats:
    zones = votes.shape[1]
    by_zone = _pure_by_zone(votes)
    pure, shared = _evidence(votes)
    total = votes.sum(axis=1, keepdims=True)
    spread = (votes + _SPREAD) / (total + _SPREAD * zones)
    shares = np.zeros_like(votes)
    for n in range(len(_NOISE)):
        alone = np.exp(by_zone[n] - logsumexp(by_zone[n], axis=1, keepdims=True))
        for m, mixed in enumerate(_MIXED):
            apart = np.log1p(-mixed) + pure[n] - np.log(mixed) - shared
            is_pure = (1 / (1 + np.exp(-np.clip(apart, -500, 500))))[:, None]
            shares += purity.weights[n, m] * (is_pure * alone + (1 - is_pure) * spread)
    made: Floats = shares / shares.sum(axis=1, keepdims=True)
    return made


def _pure_by_zone(votes: Floats) -> Floats:
    """Log evidence per noise rate, row and zone that the prefix is that zone's alone."""
    zones = votes.shape[1]
    wrong = votes.sum(axis=1, keepdims=True) - votes
    right, slip = np.log1p(-_NOISE), np.log(_NOISE / (zones - 1))
    made: Floats = right[:, None, None] * votes + slip[:, None, None] * wrong - np.log(zones)
    return made


def _evidence(votes: Floats) -> tuple[Floats, Floats]:
    """Log evidence of one zone alone (per noise rate and row), and of a shared prefix."""
    zones, total = votes.shape[1], votes.sum(axis=1)
    whole = gammaln(_SPREAD * zones) - gammaln(_SPREAD * zones + total)
    shared = whole + (gammaln(_SPREAD + votes) - gammaln(_SPREAD)).sum(axis=1)
    return logsumexp(_pure_by_zone(votes), axis=2), shared
