"""Fit the distribution of round trips between each pair of zones from targets of known zone.

Minimum round trips of own instances, and of targets placed by their address, are grouped by (probe
zone, own zone). The result has densities over the logarithm of a round trip, and the threshold
between each pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# More points than this do not change a smoothed density.
_POINTS = 64
# Without evidence two targets of one pair of zones differ by about a sixth.
_LEAST_SPREAD = 0.03
_FIRST_SPREAD = 0.16
# A Student density of four degrees of freedom forgives a few far points.
_STUDENT = 0.375
# One round trip in a hundred follows no calibration: a busy host, an unusual path.
_STRAY = 0.01
_SHORTEST_MS, _LONGEST_MS = 0.01, 1000.0
# Range of unmeasured pairs, and of zones without a probe.
_INTER_MS = (0.1, 20.0)
_FLOOR = _STRAY / np.log(_LONGEST_MS / _SHORTEST_MS)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Points (logarithms of ms) and the width of the bump on each."""

    points: Floats
    width: float
    seen: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """``kernels[i, j]``: probe in zone i, target in zone j."""

    zones: tuple[str, ...]
    kernels: Mapping[tuple[int, int], Kernel]

    @property
    def own(self) -> tuple[int, ...]:
        """Zones with calibrated own round trips."""
        return tuple(j for j in range(len(self.zones)) if (j, j) in self.kernels)


def fit_kernel(rtts_ms: Floats) -> Kernel | None:
    """The kernel of one pair of zones; ``None`` without a round trip."""
    logs = np.sort(np.log(np.clip(rtts_ms[np.isfinite(rtts_ms)], _SHORTEST_MS, _LONGEST_MS)))
    n = len(logs)
    if not n:
        return None
    spread = 1.4826 * float(np.median(np.abs(logs - np.median(logs))))
    # Two points' worth of doubt, which many points outweigh.
    spread = np.sqrt((n * spread**2 + 2 * _FIRST_SPREAD**2) / (n + 2))
    width = max(_LEAST_SPREAD, 0.9 * spread * n**-0.2)
    if n > _POINTS:
        logs = np.quantile(logs, (np.arange(_POINTS) + 0.5) / _POINTS)
    return Kernel(logs, float(width), n)


def density(kernel: Kernel | None, rtts_ms: Floats) -> Floats:
    """Log density per target; zero where the round trip is missing."""
    present = np.isfinite(rtts_ms)
    logs = np.log(np.clip(np.where(present, rtts_ms, 1.0), _SHORTEST_MS, _LONGEST_MS))
    if kernel is None:
        return np.where(present, _inter(logs), 0.0)
    # Most targets differ in the last digit only, so that a fine table serves for all of them.
    apart = (logs[:, None] - kernel.points[None, :]) / kernel.width
    bumps = _STUDENT * (1 + apart**2 / 4) ** -2.5
    return np.where(present, np.log((1 - _STRAY) * bumps.mean(axis=1) / kernel.width + _FLOOR), 0.0)


def anywhere(rtts_ms: Floats) -> Floats:
    """Log density of a target in a zone that is not calibrated."""
    present = np.isfinite(rtts_ms)
    logs = np.log(np.clip(np.where(present, rtts_ms, 1.0), _SHORTEST_MS, _LONGEST_MS))
    return np.where(present, _inter(logs), 0.0)


def _inter(logs: Floats) -> Floats:
    low, high = np.log(_INTER_MS)
    inside = (logs >= low) & (logs <= high)
    made: Floats = np.log((1 - _STRAY) * inside / (high - low) + _FLOOR)
    return made


def thresholds(calibration: Calibration) -> dict[tuple[str, str], float]:
    """Per probe's zone i and other zone j: the ms below which i itself is the likelier."""
    grid = np.exp(np.linspace(np.log(_SHORTEST_MS), np.log(100.0), 2000))
    found = {}
    for (i, j), kernel in calibration.kernels.items():
        if i == j or (i, i) not in calibration.kernels:
            continue
        own = calibration.kernels[i, i]
        middle = np.exp(np.median(own.points))
        likelier = density(kernel, grid) > density(own, grid)
        beyond = grid[likelier & (grid > middle)]
        if len(beyond):
            found[calibration.zones[i], calibration.zones[j]] = round(float(beyond[0]), 4)
    return found
