"""Compute what screening saves and costs: figures, curves and the table behind them.

Call times are chosen figures or those that a pool measured.
"""

from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.payoff.simulation import CALLS, FAN_OUTS, Floats, Workload, build_distributions
from screening.payoff.surfaces import (
    TRIALS,
    Change,
    Surface,
    build_surface,
    compare,
    find_left_over,
    find_percentiles,
)
from screening.statistics.histograms import spread_ms

# The sequential model first: sequential calls to one node.
SHAPES = (1, *FAN_OUTS)
PERCENTILES = (0.99, 0.999)
SHARES = tuple(percent / 100 for percent in range(51))
FACTORS = tuple(1 + step / 4 for step in range(17))
# A request with more sequential calls takes longer to compute than a slider may.
MOST_CALLS, MOST_NODES = 40, 1000
MEASURED_POINTS = 1 << 17
# What a run of the agent takes; a provider may bill more.
HOURS = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """Parameters of a pay-off; errors are shares of the bad and of the good, price per hour."""

    bad_share: float = 0.4
    fan_out: int = 10
    calls: int = CALLS
    k: float = 2.4
    wanted: int = 40
    price: float = 0.1
    hours: float = HOURS
    false_positive: float = 0.1
    false_negative: float = 0.3
    workload: Workload = field(default_factory=Workload)


@dataclass(frozen=True, slots=True)
class Measured:
    """Call times of a pool's good and bad nodes, as histograms."""

    good: tuple[tuple[int, int], ...]
    bad: tuple[tuple[int, int], ...]


def answer(question: Question, measured: Measured | None = None) -> dict[str, Any]:
    """Everything that the pay-off page and its files show; BadInput for figures out of bounds."""
    _check(question)
    surface = _prepare(measured or question.workload, question.calls)
    errors = (question.false_positive, question.false_negative)
    after = find_left_over(question.bad_share, *errors, question.k)
    shares = (question.bad_share, after)
    called = _find_called(question)
    launches = int(np.ceil(question.k * question.wanted - 1e-9))
    return {
        "question": asdict(question),
        "bad_before": question.bad_share,
        "bad_after": after,
        "called": called,
        "full_k": 1 / called if called else None,
        "launches": launches,
        "terminated": launches - question.wanted,
        "cost": (launches - question.wanted) * question.price * question.hours,
        "running_cost": question.wanted * question.price,
        "gains": _list_gains(surface, question.wanted, shares),
        "curves": _list_curves(surface),
        "by_k": _list_factors(surface, question),
    }


def _check(question: Question) -> None:
    bounds = (
        ("bad_share", question.bad_share, 0, 0.5),
        ("calls", question.calls, 1, MOST_CALLS),
        ("k", question.k, 1, 10),
        ("wanted", question.wanted, 1, MOST_NODES),
        ("price", question.price, 0, 1000),
        ("hours", question.hours, 0, 1000),
        ("false_positive", question.false_positive, 0, 1),
        ("false_negative", question.false_negative, 0, 0.99),
    )
    for name, value, low, high in bounds:
        if not low <= value <= high:
            raise BadInput(f"a number from {low:g} to {high:g}", field=name)
    if question.fan_out not in SHAPES:
        raise BadInput(f"one of {', '.join(map(str, SHAPES))}", field="fan_out")


def _find_called(question: Question) -> float:
    good = (1 - question.bad_share) * (1 - question.false_negative)
    return good + question.bad_share * question.false_positive


def _prepare(source: Workload | Measured, calls: int) -> Surface:
    return _build_surface(source, calls)


@lru_cache(maxsize=16)
def _build_surface(source: Workload | Measured, calls: int) -> Surface:
    # More calls per request, fewer requests: a slider waits no longer for them.
    trials = TRIALS * CALLS // max(calls, CALLS)
    return build_surface(*_build_times(source), calls, trials)


@lru_cache(maxsize=6)
def _build_times(source: Workload | Measured) -> tuple[Floats, Floats]:
    if isinstance(source, Workload):
        return build_distributions(source)
    if not source.good or not source.bad:
        raise BadInput("measured call times need a network test of a good and of a bad instance")
    good, bad = (spread_ms(pairs, MEASURED_POINTS) for pairs in (source.good, source.bad))
    return good.astype(np.float32), bad.astype(np.float32)


def _list_gains(surface: Surface, nodes: int, shares: tuple[float, float]) -> list[dict[str, Any]]:
    return [
        {"fan_out": fan_out, "percentile": percentile, **_describe(change)}
        for fan_out in SHAPES
        for percentile in PERCENTILES
        for change in [compare(surface, fan_out, nodes, shares, percentile)]
    ]


def _describe(change: Change) -> dict[str, float]:
    return {
        "before_ms": change.before.value,
        "before_low_ms": change.before.low,
        "before_high_ms": change.before.high,
        "after_ms": change.after.value,
        "after_low_ms": change.after.low,
        "after_high_ms": change.after.high,
        "saved": change.saved.value,
        "saved_low": change.saved.low,
        "saved_high": change.saved.high,
    }


def _list_curves(surface: Surface) -> list[dict[str, Any]]:
    return [
        {
            "fan_out": fan_out,
            "percentile": percentile,
            "points": list(
                zip(
                    SHARES,
                    find_percentiles(surface, fan_out, SHARES, percentile).tolist(),
                    strict=True,
                )
            ),
        }
        for fan_out in SHAPES
        for percentile in PERCENTILES
    ]


def _list_factors(surface: Surface, question: Question) -> list[dict[str, Any]]:
    errors = (question.false_positive, question.false_negative)
    shares = [find_left_over(question.bad_share, *errors, k) for k in FACTORS]
    p99, p999 = (find_percentiles(surface, question.fan_out, shares, p) for p in PERCENTILES)
    extra = [np.ceil(k * question.wanted - 1e-9) - question.wanted for k in FACTORS]
    return [
        {
            "k": k,
            "bad_share": share,
            "p99_ms": float(p99[at]),
            "p999_ms": float(p999[at]),
            "cost": float(extra[at]) * question.price * question.hours,
        }
        for at, (k, share) in enumerate(zip(FACTORS, shares, strict=True))
    ]
