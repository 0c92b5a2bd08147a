"""Simulate a pool of instances of known truth: their rates, labels and counts.

An instance stalls by neighbours that compute on its core. Its true p99.9 follows from its stalls:
a call is late by 10 ms or more when it comes in the first (length - 10 ms) of a stall.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LIMIT_S = 0.010
TAIL = 0.001
WINDOW_S = 100.0
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kind:
    """Instances of one kind: a share of the pool, stalls per 100 s (log-normal) and their length.

    ``burst`` is the mean number of stalls that come together.
    """

    share: float
    per_100s: float
    spread: float
    shortest_ms: float
    longest_ms: float
    burst: float = 2.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """True rates, true tails and what one run of 100 s counts."""

    per_100s: Floats
    late_share: Floats
    good: NDArray[np.bool_]
    counts: Floats


# Bobtail's section 3: without computing neighbours stalls are rare; with some, they are many but
# end soon, because a waking machine is boosted; with more than cores, whole slices are lost.
QUIET = Kind(0.35, 3.0, 0.7, 10, 30)
BRIEF = Kind(0.15, 40.0, 0.5, 10, 12)
CROWDED = Kind(0.5, 60.0, 1.0, 8, 30, 3.0)


def build_kinds(bad_share: float) -> tuple[Kind, ...]:
    """The three kinds with a chosen share of bad ones; good ones keep their proportions."""
    good = QUIET.share + BRIEF.share
    shares = [(1 - bad_share) * k.share / good for k in (QUIET, BRIEF)] + [bad_share]
    kinds = (QUIET, BRIEF, CROWDED)
    return tuple(
        Kind(share, k.per_100s, k.spread, k.shortest_ms, k.longest_ms, k.burst)
        for share, k in zip(shares, kinds, strict=True)
    )


def simulate_fleet(instances: int, kinds: tuple[Kind, ...], rng: np.random.Generator) -> Fleet:
    """Draw instances, their truth, and what the agent counts on them in 100 s."""
    picked = rng.choice(len(kinds), size=instances, p=[kind.share for kind in kinds])
    table = np.array([(k.per_100s, k.spread, k.shortest_ms, k.longest_ms, k.burst) for k in kinds])
    median, spread, low_ms, high_ms, burst = table[picked].T
    per_100s = median * np.exp(spread * rng.standard_normal(instances))
    low_s, high_s = low_ms / 1000, high_ms / 1000
    counted = np.clip((high_s - LIMIT_S) / (high_s - low_s), 0, 1)
    excess_s = (high_s - LIMIT_S) ** 2 / (2 * (high_s - low_s))
    excess_s = np.where(low_s >= LIMIT_S, (low_s + high_s) / 2 - LIMIT_S, excess_s)
    late_share = per_100s / WINDOW_S * excess_s
    counts = count_stalls(per_100s * counted, burst, rng)
    return Fleet(per_100s, late_share, late_share < TAIL, counts)


def count_stalls(per_100s: Floats, burst: Floats, rng: np.random.Generator) -> Floats:
    """Bursty counts of one window: a negative binomial with variance ``burst`` times its mean."""
    extra = np.maximum(burst - 1, 1e-9)
    return rng.poisson(rng.gamma(per_100s / extra, extra)).astype(float)
