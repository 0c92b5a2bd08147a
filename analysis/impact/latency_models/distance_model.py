"""Fit a latency model by distance to samples, for populations without samples.

A round trip is taken as an access delay plus a stretch of the light time of the great circle in
fibre; both are measured on the samples, and so is how far off the model is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Floats
from analysis.impact.distances import great_circle_km, points_of, weighted_percentile
from analysis.impact.places import Client, Region
from analysis.optimization import Samples
from core.errors import MissingData

# Refractive index of glass: ratio of the travel times of light in fibre and in vacuum.
REFRACTION = 1.468
FIBRE_KM_PER_MS = 299.792458 / REFRACTION
# Fewer pairs or clients do not determine a stretch.
MIN_PAIRS = 30
MIN_CLIENTS = 5
PASSES = 40
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Model:
    """``rtt = access_ms + stretch * great-circle round trip in fibre``, and how good that is.

    ``error`` is the median of |model - measured| / measured for clients that were left out of the
    fit; between ``low`` and ``high`` lie 80 of 100 ratios of measured to model.
    """

    access_ms: float
    stretch: float
    clients: int
    pairs: int
    error: float
    low: float
    high: float

    def predict(self, clients: Sequence[Client], regions: Sequence[Region]) -> Floats:
        """Return modelled round trips in ms, clients by regions."""
        light_ms = ideal_ms(clients, regions)
        return np.asarray(self.access_ms + self.stretch * light_ms, np.float64)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a set serves populations without samples, all of it modelled."""

    populations: int
    weight: float
    mean_ms: float
    percentiles_ms: Mapping[int, float]


def fit(samples: Samples, clients: Sequence[Client], facts: Mapping[str, Region]) -> Model:
    """Return the model that the samples of placed clients bear out; raise MissingData."""
    ideal = ideal_ms(clients, [facts[name] for name in samples.regions])
    measured = samples.collapsed().values[:, :, 0].astype(np.float64).T
    client, region = np.nonzero(np.isfinite(ideal) & np.isfinite(measured) & (measured > 0))
    n_clients = len(set(client.tolist()))
    if len(client) < MIN_PAIRS or n_clients < MIN_CLIENTS:
        raise MissingData(
            f"a stretch needs {MIN_PAIRS} pairs of {MIN_CLIENTS} clients and regions with "
            f"places and samples; there are {len(client)} of {n_clients}"
        )
    x, y = ideal[client, region], measured[client, region]
    access, stretch = _fit(x, y)
    ratios = y / np.maximum(access + stretch * x, 1e-9)
    low, high = (float(v) for v in np.percentile(ratios, (10, 90)))
    return Model(access, stretch, n_clients, len(x), _error(x, y, client), low, high)


def ideal_ms(clients: Sequence[Client], regions: Sequence[Region]) -> Floats:
    """Return the round trip of light in a straight fibre, client by region."""
    km = great_circle_km(points_of([c.at for c in clients]), points_of([r.at for r in regions]))
    return 2 * km / FIBRE_KM_PER_MS


def cover(
    model: Model, populations: Sequence[Client], facts: Mapping[str, Region], regions: Sequence[str]
) -> Coverage | None:
    """Return how a set serves populations; None where a chosen region's place is not known."""
    rtts = model.predict(populations, [facts[name] for name in regions])
    weights = np.array([p.weight for p in populations], np.float64)
    best = rtts.min(axis=1)
    if np.isnan(rtts).any() or not weights.sum():
        return None
    mean = float(np.average(best, weights=weights))
    ends = {p: weighted_percentile(best, weights, p) for p in (50, 95, 99)}
    return Coverage(len(populations), float(weights.sum()), mean, ends)


def _fit(x: Floats, y: Floats) -> tuple[float, float]:
    """Least absolute deviations in share of the value, by reweighted least squares."""
    access, stretch = 0.0, float(np.median(y / np.maximum(x, 1.0)))
    for _ in range(PASSES):
        # Relative to the value: a fifth too much is as bad near by as far away.
        off = np.abs(y - access - stretch * x)
        w = 1 / (np.maximum(off, 1e-3 * y) * y)
        mean_x, mean_y = np.average(x, weights=w), np.average(y, weights=w)
        spread = float((w * (x - mean_x) ** 2).sum())
        slope = float((w * (x - mean_x) * (y - mean_y)).sum()) / spread if spread else 1.0
        # Nothing is faster than light in a straight fibre, and no access takes less than nothing.
        stretch = max(slope, 1.0)
        access = max(float(mean_y - stretch * mean_x), 0.0)
    return access, stretch


def _error(x: Floats, y: Floats, client: NDArray[np.intp]) -> float:
    """The median relative error for clients that the fit has not seen."""
    errors = []
    for fold in range(FOLDS):
        out = client % FOLDS == fold
        if out.all() or not out.any():
            continue
        access, stretch = _fit(x[~out], y[~out])
        errors.append(np.abs(access + stretch * x[out] - y[out]) / y[out])
    return float(np.median(np.concatenate(errors)))
