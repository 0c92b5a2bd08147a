"""Measure how much values of the battery's rounds vary, when, and against an idle control."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from screening.report.schema import ROUND_LISTS, ROUND_VALUES
from screening.statistics.distributions import find_kruskal_chance

BAND = 0.2
HOURS = 24
HOUR_S = 3600
# RFC 3550's running mean of the differences gives each new one this weight.
SMOOTHING = 1 / 16
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Jitter:
    """How much one test's values vary; ``outside`` is the share over 20 % away from the median."""

    n: int
    mean: float
    deviation: float
    variation: float
    p50: float
    p95: float
    p99: float
    p999: float
    max_to_median: float
    outside: float
    smoothed: float


@dataclass(frozen=True, slots=True)
class Hour:
    """Values of one hour of the day (UTC)."""

    hour: int
    n: int
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class Profile:
    """The hours of the day, and the chance that they differ as much without a daily rhythm."""

    hours: tuple[Hour, ...]
    p_value: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """An instance's variation as a multiple of the idle control's, with a 90 % interval."""

    ratio: float
    low: float
    high: float


def describe(values: Sequence[float] | Floats) -> Jitter:
    """Jitter of a series in its order; BadInput when it is empty."""
    data = np.asarray(values, dtype=float)
    if not len(data):
        raise BadInput("no values to describe")
    median = float(np.median(data))
    p95, p99, p999 = np.quantile(data, [0.95, 0.99, 0.999], method="higher")
    deviation = float(data.std(ddof=1)) if len(data) > 1 else 0.0
    away = np.abs(data - median) > BAND * abs(median)
    scale = median or float("nan")
    return Jitter(
        len(data),
        float(data.mean()),
        deviation,
        deviation / (float(data.mean()) or float("nan")),
        median,
        float(p95),
        float(p99),
        float(p999),
        float(data.max()) / scale,
        float(away.mean()),
        smooth(data),
    )


def smooth(data: Floats) -> float:
    """RFC 3550's interarrival jitter of successive values."""
    jitter = 0.0
    for difference in np.abs(np.diff(data)):
        jitter += (float(difference) - jitter) * SMOOTHING
    return jitter


def profile(at: Sequence[float], values: Sequence[float]) -> Profile:
    """Hour-of-day profile of values measured at ``at``, seconds since the epoch."""
    hours = (np.asarray(at, dtype=float) // HOUR_S % HOURS).astype(int)
    data = np.asarray(values, dtype=float)
    groups = {hour: data[hours == hour] for hour in range(HOURS) if (hours == hour).any()}
    rows = tuple(
        Hour(hour, len(group), float(np.median(group)), float(np.quantile(group, 0.95)))
        for hour, group in groups.items()
    )
    if len(groups) < 2 or np.ptp(data) == 0:
        return Profile(rows, 1.0)
    return Profile(rows, find_kruskal_chance(groups.values()))


def compare(
    values: Sequence[float], control: Sequence[float], resamples: int = 1000, seed: int = 0
) -> Comparison:
    """Coefficient of variation beside an idle machine's; intervals by bootstrap."""
    mine, idle = np.asarray(values, dtype=float), np.asarray(control, dtype=float)
    if min(len(mine), len(idle)) < 2:
        raise BadInput("a comparison needs two values on both sides")
    rng = np.random.default_rng(seed)
    drawn = [
        _vary(rng.choice(mine, len(mine))) / max(_vary(rng.choice(idle, len(idle))), 1e-12)
        for _ in range(resamples)
    ]
    low, high = np.quantile(drawn, [0.05, 0.95])
    return Comparison(_vary(mine) / max(_vary(idle), 1e-12), float(low), float(high))


def _vary(data: Floats) -> float:
    return float(data.std(ddof=1) / data.mean())


def collect_series(rounds: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Series of (time, value) per test; a test missing in a round leaves a gap, not a zero."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rounds:
        for name in ("cpu_ms", *ROUND_VALUES):
            if name in row:
                series.setdefault(name, []).append((row["at"], row[name]))
        for name in ROUND_LISTS:
            pairs = [(row["at"], value) for value in row.get(name, ())]
            if pairs:
                series.setdefault(name, []).extend(pairs)
    return series
