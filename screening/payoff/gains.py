"""What screening buys and costs: a pool or chosen figures in, before and after out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import BadInput
from screening.decision.selection import compute_factor
from screening.payoff.simulation import (
    CALLS,
    FAN_OUTS,
    PERCENTILES,
    Curve,
    Floats,
    Workload,
    make_distributions,
    simulate_partition,
    simulate_sequential,
)
from screening.statistics.histograms import Pairs, spread_ms

DRAWS = 40
TRIALS_PER_DRAW = 50_000
PAGE_TRIALS = 200_000
NODE_POINTS = 20_000


@dataclass(frozen=True, slots=True)
class Gain:
    """One percentile of one model, before and after, in milliseconds; ``saved`` is a share."""

    model: str
    fan_out: int
    percentile: float
    before_ms: float
    after_ms: float
    saved: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Screening:
    """What screening does to a pool: errors as shares of the bad and of the good."""

    bad_share: float = 0.5
    false_positive: float = 0.1
    false_negative: float = 0.3
    wanted: int = 40
    price: float = 0.0

    def find_left_over(self) -> float:
        """Share of bad ones among those that are called good."""
        wrong = self.bad_share * self.false_positive
        right = (1 - self.bad_share) * (1 - self.false_negative)
        return wrong / (wrong + right) if wrong + right else 0.0


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer to "what would it buy me, what does it cost"."""

    gains: tuple[Gain, ...]
    bad_before: float
    bad_after: float
    k: float
    launches: int
    cost: float


def estimate_offer(
    screening: Screening, workload: Workload, trials: int = PAGE_TRIALS, seed: int = 0
) -> Offer:
    """Gains and cost for chosen figures; BadInput when no instance would be called good."""
    called = (1 - screening.bad_share) * (1 - screening.false_negative)
    if called <= 0:
        raise BadInput("no instance would be called good: lower the bad share or the errors")
    good, bad = make_distributions(workload)
    shares = (screening.bad_share, screening.find_left_over())
    curves = [simulate_sequential(good, bad, shares, trials, seed)]
    curves += [simulate_partition(good, bad, n, shares, trials, seed) for n in FAN_OUTS]
    gains = tuple(gain for curve in curves for gain in _compare(curve))
    k = compute_factor(1 - screening.bad_share, screening.false_negative)
    launches = int(np.ceil(k * screening.wanted))
    return Offer(gains, *shares, k, launches, launches * screening.price)


def _compare(curve: Curve) -> list[Gain]:
    before, after = curve.points
    rows = (
        (0.99, before.p99_ms, after.p99_ms, before.p99_interval, after.p99_interval),
        (0.999, before.p999_ms, after.p999_ms, before.p999_interval, after.p999_interval),
    )
    return [
        Gain(
            curve.model,
            curve.fan_out,
            percentile,
            old,
            new,
            1 - new / old,
            1 - new_span[1] / old_span[0],
            1 - new_span[0] / old_span[1],
        )
        for percentile, old, new, old_span, new_span in rows
    ]


def measure_gains(
    nodes: Sequence[Pairs], called: Sequence[bool], group: int, seed: int = 0
) -> tuple[Gain, ...]:
    """Gains from measured call times per node: groups of all beside groups of those called good.

    The interval covers which nodes one gets. BadInput with fewer called good than a group needs.
    """
    if sum(called) < group or group < 1:
        raise BadInput(f"a group of {group} needs as many nodes that are called good")
    times = np.stack([spread_ms(pairs, NODE_POINTS).astype(np.float32) for pairs in nodes])
    rng = np.random.default_rng(seed)
    fit = np.flatnonzero(np.asarray(called))
    draws = np.array(
        [
            [
                _run_group(times[rng.choice(pool, group, replace=False)], rng)
                for pool in (np.arange(len(nodes)), fit)
            ]
            for _ in range(DRAWS)
        ]
    )
    saved = 1 - draws[:, 1] / draws[:, 0]
    low, high = np.quantile(saved, [0.05, 0.95], axis=0)
    before, after = np.median(draws, axis=0)
    names = [("sequential", 1, p) for p in PERCENTILES]
    names += [("partition-aggregate", group, p) for p in PERCENTILES]
    return tuple(
        Gain(
            *name,
            float(before[at]),
            float(after[at]),
            float(np.median(saved[:, at])),
            float(low[at]),
            float(high[at]),
        )
        for at, name in enumerate(names)
    )


def _run_group(times: Floats, rng: np.random.Generator) -> list[float]:
    nodes, points = times.shape
    node = rng.integers(nodes, size=(1, TRIALS_PER_DRAW))
    turn = times[node, rng.integers(points, size=(CALLS, TRIALS_PER_DRAW))].sum(axis=0)
    slowest = times[0][rng.integers(points, size=TRIALS_PER_DRAW)]
    for row in times[1:]:
        np.maximum(slowest, row[rng.integers(points, size=TRIALS_PER_DRAW)], out=slowest)
    return [float(x) for data in (turn, slowest) for x in np.quantile(data, PERCENTILES)]
