"""A simulated fleet with known truth: what the agent's mark gets right and wrong on it."""

from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from screening.agent_parts.verdict import LOW_PER_100S
from screening.decision.calibration import Calibration, calibrate, measure
from screening.decision.selection import estimate_factor
from screening.statistics.simulated_pool import build_kinds, simulate_fleet

INSTANCES = 2_000
BAD_SHARE = 0.5
WANTED = 40


@lru_cache(maxsize=1)
def simulate() -> dict[str, Any]:
    """Errors of the agent's mark on a simulated fleet, and the sweep over all marks."""
    rng = np.random.default_rng(2013)
    fleet = simulate_fleet(INSTANCES, build_kinds(BAD_SHARE), rng)
    found = calibrate(fleet.counts, fleet.good)
    at_mark = measure(fleet.counts, fleet.good, LOW_PER_100S)
    factor = estimate_factor(at_mark.called, INSTANCES, WANTED)
    return {
        "instances": INSTANCES,
        "bad_share": 1 - float(fleet.good.mean()),
        "low": LOW_PER_100S,
        "at_mark": asdict(at_mark),
        "factor": asdict(factor),
        "wanted": WANTED,
        "calibration": describe_calibration(found),
    }


def describe_calibration(found: Calibration) -> dict[str, Any]:
    """A calibration as plain values."""
    return asdict(found)
