"""Infer zones by round-trip time: a target is in the zone that matches its values best.

The inputs are minimum round trips per target and probe zone, and the zones of targets already
known; the result is a finding per target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cartography.zones.calibration import (
    Calibration,
    Floats,
    Kernel,
    anywhere,
    density,
    fit_kernel,
)
from cartography.zones.observations import Rules
from cartography.zones.verdicts import LatencyFinding, Reason

Ints = NDArray[np.int64]
# One target in twenty is in a zone without a probe, or like nothing that was measured.
_ELSEWHERE = 0.05
# So many known targets make a zone's own round trips known.
_LEAST_KNOWN = 3
_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Smallest round trips, targets by zones; ``nan`` without a reply.

    ``known`` is the zone's column of a target that is known by other means, else -1; ``probed``
    marks the targets that were probed at all.
    """

    zones: tuple[str, ...]
    smallest_ms: Floats
    known: Ints
    probed: NDArray[np.bool_]


def calibrate(trips: RoundTrips, members: NDArray[np.bool_]) -> Calibration:
    """Kernels of all pairs of zones, from the known targets among ``members``."""
    kernels: dict[tuple[int, int], Kernel] = {}
    width = len(trips.zones)
    for j in range(width):
        rows = trips.smallest_ms[members & (trips.known == j)]
        for i in range(width):
            if kernel := fit_kernel(rows[:, i]):
                kernels[i, j] = kernel
    return Calibration(trips.zones, kernels)


def is_calibrated(calibration: Calibration) -> bool:
    """Whether any zone's own round trips are known well enough."""
    return any(calibration.kernels[j, j].seen >= _LEAST_KNOWN for j in calibration.own)


def classify(
    trips: RoundTrips, rules: Rules, rule: str = "calibrated"
) -> tuple[LatencyFinding, ...]:
    """A finding per target, in their order, by the zones that are known among them.

    A target that calibrates is judged by the other half of such targets, so that the agreement of
    both methods is meaningful.
    """
    everyone = np.ones(len(trips.known), dtype=bool)
    whole = calibrate(trips, everyone)
    odds = _log_odds(trips, whole, trips.known < 0)
    near = _are_near(trips, whole)
    half = np.arange(len(trips.known)) % 2 == 0
    for part in (half, ~half):
        judged = part & (trips.known >= 0)
        odds[judged] = _log_odds(trips, calibrate(trips, ~part), judged)[judged]
    found = (_finding(trips, row, odds[row], near[row], rules) for row in range(len(trips.known)))
    return tuple(replace(finding, rule=rule) for finding in found)


def classify_by_threshold(trips: RoundTrips, rules: Rules) -> tuple[LatencyFinding, ...]:
    """A finding per target by IMC'13's rule, which knows no zone beforehand."""
    return tuple(_by_threshold(trips, row, rules) for row in range(len(trips.known)))


def _are_near(trips: RoundTrips, calibration: Calibration) -> NDArray[np.bool_]:
    """Per target and zone, whether the zone's own round trip is likelier there than anywhere.

    The round trips to other zones cannot make up for it: a late host resembles a far one.
    """
    near = np.zeros(trips.smallest_ms.shape, dtype=bool)
    for j in range(len(trips.zones)):
        column = trips.smallest_ms[:, j]
        for start in range(0, len(column), _CHUNK):
            part = slice(start, start + _CHUNK)
            own = density(_kernel(calibration, j, j), column[part])
            near[part, j] = own >= anywhere(column[part])
    return near


def _log_odds(trips: RoundTrips, calibration: Calibration, rows: NDArray[np.bool_]) -> Floats:
    """Log probability per target and zone; the last column represents none of them."""
    width = len(trips.zones)
    kernels = {(i, j): _kernel(calibration, i, j) for i in range(width) for j in range(width)}
    odds = np.zeros((len(trips.known), width + 1))
    members = np.flatnonzero(rows)
    for start in range(0, len(members), _CHUNK):
        chunk = members[start : start + _CHUNK]
        smallest = trips.smallest_ms[chunk]
        for j in range(width):
            odds[chunk, j] = sum(density(kernels[i, j], smallest[:, i]) for i in range(width))
        odds[chunk, -1] = sum(anywhere(smallest[:, i]) for i in range(width))
    odds[:, :-1] += np.log((1 - _ELSEWHERE) / width)
    odds[:, -1] += np.log(_ELSEWHERE)
    top = odds.max(axis=1, keepdims=True)
    made: Floats = odds - top - np.log(np.exp(odds - top).sum(axis=1, keepdims=True))
    return made


def _kernel(calibration: Calibration, i: int, j: int) -> Kernel | None:
    """The pair's kernel; else that of the way back; else of all pairs of the same kind."""
    kernels = calibration.kernels
    if found := kernels.get((i, j)) or kernels.get((j, i)):
        return found
    alike = [k.points for (a, b), k in kernels.items() if (a == b) == (i == j)]
    return fit_kernel(np.exp(np.concatenate(alike))) if alike else None


def _finding(
    trips: RoundTrips, row: int, odds: Floats, near: NDArray[np.bool_], rules: Rules
) -> LatencyFinding:
    rtts = rtts_of(trips, row)
    if not rtts:
        return LatencyFinding(reason=_silent(trips, row))
    order = np.argsort(-odds)
    best, second = int(order[0]), int(order[1])
    elsewhere = len(trips.zones)
    confidence = float(np.exp(odds[best]))
    zone = trips.zones[best] if best != elsewhere else None
    runner_up = trips.zones[second] if second != elsewhere else None
    margin = float(odds[best] - odds[second])
    reason = None
    if zone is None:
        reason = Reason.OVER_THRESHOLD
    elif zone not in rtts:
        reason = Reason.NO_PROBE_IN_ZONE
    elif not near[best]:
        reason = Reason.OVER_THRESHOLD
    elif confidence < rules.latency_confidence:
        reason = Reason.TIE if runner_up else Reason.OVER_THRESHOLD
    found = None if reason else zone
    return LatencyFinding(found, reason, confidence if zone else 0.0, rtts, runner_up, margin)


def _by_threshold(trips: RoundTrips, row: int, rules: Rules) -> LatencyFinding:
    """IMC'13's rule: the smallest round trip, if it is below the threshold and unique."""
    rtts = rtts_of(trips, row)
    if not rtts:
        return LatencyFinding(reason=_silent(trips, row), rule="threshold")
    order = sorted(rtts, key=lambda zone: rtts[zone])
    best, second = order[0], order[1] if len(order) > 1 else None
    gap = rtts[second] - rtts[best] if second else None
    reason = None
    if rtts[best] >= rules.threshold_ms:
        reason = Reason.OVER_THRESHOLD
    elif gap is None:
        reason = Reason.NO_PROBE_IN_ZONE
    elif gap <= 0 or gap < rules.gap_ms:
        reason = Reason.TIE
    zone = None if reason else best
    return LatencyFinding(zone, reason, None, rtts, second, gap, "threshold")


def rtts_of(trips: RoundTrips, row: int) -> Mapping[str, float]:
    """Smallest round trip of each zone that has one."""
    values: Sequence[float] = trips.smallest_ms[row].tolist()
    return {z: round(t, 4) for z, t in zip(trips.zones, values, strict=True) if t == t}


def _silent(trips: RoundTrips, row: int) -> Reason:
    return Reason.UNRESPONSIVE if trips.probed[row] else Reason.NOT_PROBED
