"""Compute completion times at any share of bad nodes from call times of good and bad nodes.

What :mod:`screening.payoff.simulation` simulates point by point is solved here: only calls in turn
need trials, the slowest of n has a distribution in closed form. Intervals cover which nodes one
gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from screening.payoff.simulation import BLOCK, CALLS, Floats
from screening.statistics.distributions import list_binomial_chances

TRIALS = 400_000
LEVEL = 0.9
# Halvings of the span of times: a microsecond of an hour.
HALVINGS = 36
# Numbers of bad nodes that are less likely than this are left out of an interval.
UNLIKELY = 1e-6
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Surface:
    """Ascending times of good and bad nodes: of one call, and of ``calls`` calls in turn."""

    good: Floats
    bad: Floats
    turns_good: Floats
    turns_bad: Floats
    calls: int

    def pick(self, fan_out: int) -> tuple[Floats, Floats]:
        """The times that count for a fan-out; 1 represents calls in turn to one node."""
        return (self.turns_good, self.turns_bad) if fan_out == 1 else (self.good, self.bad)


@dataclass(frozen=True, slots=True)
class Spread:
    """A percentile in milliseconds with its interval over which nodes one gets."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Change:
    """Before and after, and the share that is saved with its interval."""

    before: Spread
    after: Spread
    saved: Spread


def build_surface(
    good: Floats, bad: Floats, calls: int = CALLS, trials: int = TRIALS, seed: int = 0
) -> Surface:
    """Prepare ascending call times for any question; BadInput without calls."""
    if calls < 1 or not len(good) or not len(bad):
        raise BadInput("completion times need at least one call, and times of both kinds of node")
    rng = np.random.default_rng(seed)
    turns = []
    for pool in (good, bad):
        times = np.empty(trials, dtype=np.float32)
        for start in range(0, trials, BLOCK):
            size = min(BLOCK, trials - start)
            at = rng.integers(len(pool), size=(calls, size), dtype=np.uint32)
            times[start : start + size] = pool[at].sum(axis=0)
        turns.append(np.sort(times))
    return Surface(good, bad, turns[0], turns[1], calls)


def find_percentiles(
    surface: Surface, fan_out: int, shares: Sequence[float] | Doubles, percentile: float
) -> Doubles:
    """Completion time at every share of bad nodes, by halving.

    Where a share gives no whole number of nodes, that part of the requests meets one more.
    """
    wanted = np.asarray(shares, dtype=float) * fan_out
    fewer = np.floor(wanted + 1e-9)
    rest = np.clip(wanted - fewer, 0, 1)
    more = np.minimum(fewer + 1, fan_out)
    good, bad = surface.pick(fan_out)
    low, high = np.zeros(len(wanted)), np.full(len(wanted), float(max(good[-1], bad[-1])))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fine = _find_ranks(good, middle)
        poor = _find_ranks(bad, middle)
        met = (1 - rest) * fine ** (fan_out - fewer) * poor**fewer
        met += rest * fine ** (fan_out - more) * poor**more
        reached = met >= percentile
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(high)


def _find_ranks(ascending: Floats, times: Doubles) -> Doubles:
    at = np.searchsorted(ascending, times.astype(np.float32), side="right")
    return np.asarray(at / len(ascending))


def compare(
    surface: Surface, fan_out: int, nodes: int, shares: tuple[float, float], percentile: float
) -> Change:
    """One percentile at two shares of bad nodes, with 90 % intervals.

    A group of ``fan_out`` nodes, or all ``nodes`` that are called in turn, holds a binomial number
    of bad ones.
    """
    group = fan_out if fan_out > 1 else nodes
    points = find_percentiles(surface, fan_out, shares, percentile)
    times, weights = [], []
    for share in shares:
        counts, chances = _list_counts(group, share)
        times.append(find_percentiles(surface, fan_out, counts / group, percentile))
        weights.append(chances)
    saved = 1 - times[1][None, :] / times[0][:, None]
    both = weights[0][:, None] * weights[1][None, :]
    before, after = (
        Spread(float(point), *_find_span(each, chance))
        for point, each, chance in zip(points, times, weights, strict=True)
    )
    gain = Spread(1 - after.value / before.value, *_find_span(saved.ravel(), both.ravel()))
    return Change(before, after, gain)


def _list_counts(group: int, share: float) -> tuple[Doubles, Doubles]:
    counts = np.arange(group + 1.0)
    chances = list_binomial_chances(group, share)
    likely = chances > UNLIKELY
    return counts[likely], chances[likely]


def _find_span(values: Doubles, chances: Doubles) -> tuple[float, float]:
    order = np.argsort(values)
    reached = chances[order].cumsum() / chances.sum()
    tail = (1 - LEVEL) / 2
    low, high = np.searchsorted(reached, [tail - 1e-12, 1 - tail - 1e-12])
    last = len(values) - 1
    return float(values[order][min(low, last)]), float(values[order][min(high, last)])


def find_left_over(bad: float, false_positive: float, false_negative: float, k: float) -> float:
    """Share of bad nodes among the kept ones when ``k`` times as many are launched.

    Kept are those called good; where they are too few, the rest come from the others.
    """
    called = bad * false_positive + (1 - bad) * (1 - false_negative)
    among = bad * false_positive / called if called else 0.0
    enough = min(1.0, k * called)
    others = bad * (1 - false_positive) / (1 - called) if called < 1 else 0.0
    return enough * among + (1 - enough) * others
