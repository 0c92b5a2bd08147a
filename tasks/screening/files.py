"""Summarise log and report files, one document per file; simulate a pool and its pay-off."""

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.agent_parts.verdict import (
    BAD,
    GOOD,
    HIGH_PER_100S,
    LOW_PER_100S,
    NETWORK_TEST,
    UNKNOWN,
)
from screening.decision.calibration import calibrate, measure
from screening.decision.selection import compute_factor, estimate_factor
from screening.decision.verdict import Marks
from screening.log_readers.summaries import summarise_file
from screening.payoff.simulation import (
    FAN_OUTS,
    TRIALS,
    Workload,
    build_distributions,
    simulate_partition,
    simulate_sequential,
)
from screening.statistics.simulated_pool import build_kinds, simulate_fleet

SEVERITY = (BAD, NETWORK_TEST, UNKNOWN, GOOD)
MOST_INSTANCES, MOST_TRIALS = 1_000_000, 20_000_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """A pool to simulate; ``trials`` 0 leaves the pay-off out."""

    instances: int = 1000
    bad_share: float = 0.5
    low: float = LOW_PER_100S
    high: float = HIGH_PER_100S
    wanted: int = 40
    price: float = 0.0
    trials: int = TRIALS
    seed: int = 2013


def analyse_file(data: bytes, low: float, high: float) -> dict[str, Any]:
    """Figures of a file's first series, the worst verdict of all; ``series`` has each.

    BadInput for a file of no known kind, and for marks that cannot be.
    """
    if not 0 <= low < high:
        raise BadInput("choose 0 <= LOW < HIGH", field="low")
    series = [_plain(row) for row in summarise_file(data, Marks(low, high))]
    worst = min(series, key=lambda row: SEVERITY.index(row["verdict"]))
    reasons = worst["reasons"]
    if len(series) > 1:
        reasons = [f"{worst['name']}: {reason}" for reason in reasons]
    return {**series[0], "verdict": worst["verdict"], "reasons": reasons, "series": series}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Without NaN, which JSON does not know."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def simulate(scenario: Scenario) -> dict[str, Any]:
    """What the marks get right and wrong on a pool with known truth, and what it buys.

    BadInput for figures out of bounds.
    """
    _check(scenario)
    rng = np.random.default_rng(scenario.seed)
    fleet = simulate_fleet(scenario.instances, build_kinds(scenario.bad_share), rng)
    errors = measure(fleet.counts, fleet.good, scenario.low)
    return {
        "instances": scenario.instances,
        "bad_share": float((~fleet.good).mean()),
        "verdicts": _count_verdicts(fleet.counts, Marks(scenario.low, scenario.high)),
        **asdict(errors),
        "high": scenario.high,
        "k_true": compute_factor(float(fleet.good.mean()), errors.false_negative),
        "factor": _try_factor(errors.called, scenario),
        "calibration": _calibrate(fleet.counts, fleet.good),
        "payoff": _simulate_payoff(scenario),
    }


def _check(scenario: Scenario) -> None:
    bounds = (
        ("instances", 10, MOST_INSTANCES),
        ("bad_share", 0.0, 1.0),
        ("low", 0.0, 1e5),
        ("wanted", 1, 100_000),
        ("price", 0.0, 1e9),
        ("trials", 0, MOST_TRIALS),
    )
    for name, low, high in bounds:
        if not low <= getattr(scenario, name) <= high:
            raise BadInput(f"a number from {low:g} to {high:g}", field=name)
    if scenario.high <= scenario.low:
        raise BadInput("HIGH is more than LOW", field="high")


def _count_verdicts(counts: Any, marks: Marks) -> dict[str, int]:
    good, middle = int((counts <= marks.low).sum()), int((counts <= marks.high).sum())
    return {GOOD: good, NETWORK_TEST: middle - good, BAD: len(counts) - middle}


def _try_factor(called: int, scenario: Scenario) -> dict[str, Any]:
    try:
        factor = estimate_factor(called, scenario.instances, scenario.wanted, scenario.price)
    except BadInput as error:
        return {"reason": str(error)}
    return asdict(factor)


def _calibrate(counts: Any, good: Any) -> dict[str, Any]:
    try:
        found = asdict(calibrate(counts, good))
    except BadInput as error:
        return {"reason": str(error)}
    found.pop("points")
    return found


def _simulate_payoff(scenario: Scenario) -> dict[str, Any] | None:
    if not scenario.trials:
        return None
    started = time.perf_counter()
    good, bad = build_distributions(Workload())
    curves = [simulate_sequential(good, bad, trials=scenario.trials, seed=scenario.seed)]
    curves += [
        simulate_partition(good, bad, fan_out, trials=scenario.trials, seed=scenario.seed)
        for fan_out in FAN_OUTS
    ]
    seconds = round(time.perf_counter() - started, 3)
    return {
        "trials": scenario.trials,
        "seconds": seconds,
        "curves": [asdict(curve) for curve in curves],
    }
