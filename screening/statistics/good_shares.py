"""Share of good machines and jitter by placement or CPU model, with intervals across pools.

Machines of one pool are alike: they were launched together, and share racks and neighbours. The
intra-class correlation of the verdicts within pools is estimated over all groups by analysis of
variance (Donner 1986), and reduces each group's sample size to an effective one, n^2 / sum of
m (1 + (m - 1) rho) over pools of m machines. Intervals of shares are Wilson's.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from core.statistics.intervals import DEVIATIONS_95, wilson_interval


@dataclass(frozen=True, slots=True)
class Machine:
    """One judged machine: its pool, its group, and the 99.9th percentile of its sleeps in ms."""

    pool: str
    group: str
    is_good: bool
    p999_ms: float | None


@dataclass(frozen=True, slots=True)
class GoodShare:
    """A group of ``n`` judged machines in so many pools; intervals are at 95 %.

    ``p999_ms`` is the median of the machines' 99.9th percentiles; None where none was measured.
    """

    group: str
    pools: int
    n: int
    good: int
    share: float
    low: float
    high: float
    effective: float
    p999_ms: float | None
    p999_low_ms: float | None
    p999_high_ms: float | None


@dataclass(frozen=True, slots=True)
class GoodShares:
    """Groups by lower end of their interval, best first.

    ``correlation`` is that of verdicts within pools; None where no group has two pools.
    """

    groups: tuple[GoodShare, ...]
    correlation: float | None


Clusters = Mapping[str, Mapping[str, list[Machine]]]


def find_good_shares(machines: Iterable[Machine]) -> GoodShares:
    """Return the groups of the machines with shares, medians and intervals."""
    clusters: dict[str, dict[str, list[Machine]]] = {}
    for one in machines:
        clusters.setdefault(one.group, {}).setdefault(one.pool, []).append(one)
    correlation = find_correlation(clusters)
    found = (_describe(group, pools, correlation or 0.0) for group, pools in clusters.items())
    groups = sorted(found, key=lambda one: (-one.low, -one.share, one.group))
    return GoodShares(tuple(groups), correlation)


def find_correlation(clusters: Clusters) -> float | None:
    """Return the intra-class correlation of verdicts within pools of a group, from 0 to 1.

    None where no group has machines of two pools, or no pool has two machines.
    """
    n_clusters = sum(map(len, clusters.values()))
    between = within = total = spread = 0.0
    for pools in clusters.values():
        sizes = np.array([len(own) for own in pools.values()], dtype=float)
        shares = np.array([np.mean([one.is_good for one in own]) for own in pools.values()])
        share = float((sizes * shares).sum() / sizes.sum())
        between += float((sizes * (shares - share) ** 2).sum())
        within += float((sizes * shares * (1 - shares)).sum())
        total += float(sizes.sum())
        spread += float((sizes**2).sum() / sizes.sum())
    free = n_clusters - len(clusters)
    if free < 1 or total <= n_clusters:
        return None
    between, within = between / free, within / (total - n_clusters)
    size = (total - spread) / free
    whole = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole > 0 else 0.0


def _describe(group: str, pools: Mapping[str, list[Machine]], correlation: float) -> GoodShare:
    machines = [one for own in pools.values() for one in own]
    n, good = len(machines), sum(one.is_good for one in machines)
    effective = n * n / sum(len(own) * (1 + (len(own) - 1) * correlation) for own in pools.values())
    low, high = wilson_interval(good / n, effective, DEVIATIONS_95)
    values = [one.p999_ms for one in machines if one.p999_ms is not None]
    median = _find_median(values, effective * len(values) / n) if values else (None, None, None)
    return GoodShare(group, len(pools), n, good, good / n, low, high, effective, *median)


def _find_median(values: list[float], effective: float) -> tuple[float, float, float]:
    """Return the median and its interval: order statistics at the ends of the rank's interval."""
    low, high = wilson_interval(0.5, effective, DEVIATIONS_95)
    ordered, last = sorted(values), len(values) - 1
    ends = ordered[math.floor(low * last)], ordered[math.ceil(high * last)]
    return float(np.median(ordered)), *ends
