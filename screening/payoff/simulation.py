"""Simulate completion times of whole requests from call times of good and bad nodes.

Sequential: one server of the pool is called ten times in turn. Partition-aggregate: all of a group
are called at once and the slowest decides. The same random trials serve all shares of bad nodes, so
that points differ by the share and not by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from screening.statistics.distributions import find_normal_quantile

TRIALS = 2_000_000
CALLS = 10
FAN_OUTS = (10, 20, 40)
SHARES = tuple(share / 100 for share in range(0, 51, 5))
PERCENTILES = (0.99, 0.999)
LEVEL = 0.9
# Trials at a time: a block of calls stays in the processor's cache.
BLOCK = 1 << 16
# Points of a distribution: the slowest of 40 calls at p99.9 needs one call in 40,000.
POINTS = 1 << 20
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Workload:
    """Chosen call times: a log-normal body, and stalls on bad nodes.

    The stall's share is that of calls that meet one; a call waits a part of it.
    """

    median_ms: float = 0.6
    p99_ms: float = 1.4
    stall_share: float = 0.003
    shortest_stall_ms: float = 8.0
    longest_stall_ms: float = 30.0


@dataclass(frozen=True, slots=True)
class Point:
    """One share of bad nodes: p99 and p99.9 with 90 % intervals, milliseconds."""

    bad_share: float
    p99_ms: float
    p999_ms: float
    p99_interval: tuple[float, float]
    p999_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by share; ``fan_out`` is 1 for the sequential model."""

    model: str
    fan_out: int
    trials: int
    points: tuple[Point, ...]


def build_distributions(workload: Workload) -> tuple[Floats, Floats]:
    """Ascending call times of good and of bad nodes, evenly by rank; BadInput for odd figures."""
    w = workload
    if not (0 < w.median_ms < w.p99_ms and 0 <= w.stall_share < 1):
        raise BadInput("choose 0 < median < p99 and a stall share from 0 to 1")
    if not 0 <= w.shortest_stall_ms <= w.longest_stall_ms:
        raise BadInput("the shortest stall is at most the longest")
    ranks = (np.arange(POINTS) + 0.5) / POINTS
    sigma = np.log(w.p99_ms / w.median_ms) / find_normal_quantile(0.99)
    body = w.median_ms * np.exp(sigma * find_normal_quantile(ranks))
    stalled = round(POINTS * w.stall_share)
    bad = body.copy()
    if stalled:
        # Every so many calls, of all lengths, meets a stall: an even mixture without chance.
        hit = (np.arange(stalled) * POINTS) // stalled
        span = (np.arange(stalled) + 0.5) / stalled
        order = np.random.default_rng(0).permutation(stalled)
        bad[hit] += w.shortest_stall_ms + (w.longest_stall_ms - w.shortest_stall_ms) * span[order]
    return body.astype(np.float32), np.sort(bad).astype(np.float32)


def simulate_sequential(
    good: Floats, bad: Floats, shares: Sequence[float] = SHARES, trials: int = TRIALS, seed: int = 0
) -> Curve:
    """Ten sequential calls to one server, which is bad with each of the shares."""
    rng = np.random.default_rng(seed)
    times = np.empty((2, trials), dtype=np.float32)
    luck = rng.random(trials, dtype=np.float32)
    for start in range(0, trials, BLOCK):
        size = min(BLOCK, trials - start)
        for row, pool in enumerate((good, bad)):
            at = rng.integers(len(pool), size=(CALLS, size), dtype=np.uint32)
            times[row, start : start + size] = pool[at].sum(axis=0)
    points = tuple(_measure(share, np.where(luck < share, times[1], times[0])) for share in shares)
    return Curve("sequential", 1, trials, points)


def simulate_partition(
    good: Floats,
    bad: Floats,
    fan_out: int,
    shares: Sequence[float] = SHARES,
    trials: int = TRIALS,
    seed: int = 0,
) -> Curve:
    """The slowest of ``fan_out`` servers, of which each share is bad.

    The slowest of n calls is drawn at once: its rank is the n-th root of a uniform number. Where
    the share gives no whole number of servers, that part of the trials has one more.
    """
    rng = np.random.default_rng(seed)
    logs = [np.log(rng.random(trials, dtype=np.float32) + np.float32(1e-12)) for _ in range(2)]
    points = []
    for share in shares:
        fewer = int(share * fan_out + 1e-9)
        split = round((share * fan_out - fewer) * trials)
        parts = [
            _draw_group(good, bad, (fan_out - wrong, wrong), [log[part] for log in logs])
            for wrong, part in ((fewer, slice(split, None)), (fewer + 1, slice(split)))
            if part.stop != 0
        ]
        points.append(_measure(share, np.concatenate(parts)))
    return Curve("partition-aggregate", fan_out, trials, tuple(points))


def _draw_group(good: Floats, bad: Floats, sizes: tuple[int, int], logs: list[Floats]) -> Floats:
    slowest = _draw_slowest(good, logs[0], sizes[0])
    if sizes[1]:
        np.maximum(slowest, _draw_slowest(bad, logs[1], sizes[1]), out=slowest)
    return slowest


def _draw_slowest(pool: Floats, logs: Floats, calls: int) -> Floats:
    if not calls:
        return np.zeros(len(logs), dtype=np.float32)
    # One minus the root, to keep the digits that separate late ranks.
    late = -np.expm1(logs / np.float32(calls)) * np.float32(len(pool))
    at = len(pool) - 1 - np.minimum(late.astype(np.int32), len(pool) - 1)
    slowest: Floats = pool[at]
    return slowest


def _measure(share: float, times: Floats) -> Point:
    trials = len(times)
    ranks = [_find_ranks(trials, percentile) for percentile in PERCENTILES]
    flat = sorted({rank for triple in ranks for rank in triple})
    ordered = np.partition(times, flat)
    (p99, low99, high99), (p999, low999, high999) = (
        [float(ordered[rank]) for rank in triple] for triple in ranks
    )
    return Point(share, p99, p999, (low99, high99), (low999, high999))


def _find_ranks(trials: int, percentile: float) -> tuple[int, int, int]:
    spread = find_normal_quantile((1 + LEVEL) / 2) * np.sqrt(trials * percentile * (1 - percentile))
    middle = min(int(np.ceil(trials * percentile)), trials) - 1
    return middle, max(int(middle - spread), 0), min(int(np.ceil(middle + spread)), trials - 1)
