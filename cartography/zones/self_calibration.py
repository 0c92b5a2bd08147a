"""Estimate the zone of targets in a region without calibration data, from round trips alone.

A target belongs to the zone of a probe that it is nearest to if its round trips from the other
probes match those of the nearest targets.
"""

import numpy as np

from cartography.zones.calibration import Floats
from cartography.zones.latency import Ints, RoundTrips
from cartography.zones.observations import Rules

# The nearest tenth of so many targets shows a zone; fewer may be those of a zone without a probe.
_LEAST_NEAR = 30
_NEAREST = 0.1
# Round trips to another zone differ by some hundredths; three spreads hold nearly all of them.
_LEAST_SPREAD = 0.05
_SPREADS = 3.0
# A tenth more than the round trip before, and far more than is usual, is a step to another zone.
_LEAST_GAP = 0.1
_GAPS = 10.0


def estimate_members(trips: RoundTrips, rules: Rules) -> Ints:
    """Column of the zone of each target that shows it, else -1."""
    known = np.full(len(trips.known), -1, dtype=np.int64)
    used = np.flatnonzero(np.isfinite(trips.smallest_ms).any(axis=0))
    whole = np.flatnonzero(np.isfinite(trips.smallest_ms[:, used]).all(axis=1))
    if len(used) < 2 or not len(whole):
        return known
    rtts_ms = trips.smallest_ms[np.ix_(whole, used)]
    nearest = rtts_ms.argmin(axis=1)
    for i, column in enumerate(used):
        members = np.flatnonzero((nearest == i) & (rtts_ms[:, i] < rules.threshold_ms))
        if len(members) >= _LEAST_NEAR:
            alike = members[_alike(rtts_ms[members], i)]
            close = rtts_ms[alike, i] <= _edge(rtts_ms[alike, i])
            known[whole[alike[close]]] = column
    return known


def _alike(rtts_ms: Floats, own: int) -> np.ndarray:
    """Which targets have the same round trips to all other zones as the nearest tenth."""
    seeds = rtts_ms[:, own] <= np.quantile(rtts_ms[:, own], _NEAREST)
    logs = np.log(np.maximum(np.delete(rtts_ms, own, axis=1), 1e-3))
    middle = np.median(logs[seeds], axis=0)
    spread = 1.4826 * np.median(np.abs(logs[seeds] - middle), axis=0)
    apart = np.abs(logs - middle) / np.maximum(spread, _LEAST_SPREAD)
    found: np.ndarray = (apart <= _SPREADS).all(axis=1)
    return found


def _edge(own_ms: Floats) -> float:
    """Where the nearest targets end: before the first gap that is wide beside all others."""
    logs = np.log(np.maximum(np.sort(own_ms), 1e-3))
    gaps = np.diff(logs)
    wide = np.flatnonzero(gaps > max(_LEAST_GAP, _GAPS * float(np.median(gaps))))
    # The first few round trips may have no neighbours.
    wide = wide[wide >= len(logs) * _NEAREST]
    return float(np.exp(logs[wide[0]]) * 1.0001) if len(wide) else float("inf")
