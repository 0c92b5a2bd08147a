"""Model round-trip times where none was measured, from measured pairs of places near both ends.

A curve of round trips over distance is multiplied by an inflation that is kriged over both ends of
the path: for client c and region r with light time x(c, r) in fibre, sources i and targets j,

    rtt(c, r) = curve(x(c, r)) * exp(sum over i, j of k(km(c, i)) * a(i, j) * k(km(j, r)))

The coefficients ``a`` solve the kriging equations of log(measured / curve). Far from everything
measured the sum tends to zero, so that the curve is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.impact.assignment import Floats
from analysis.impact.distances import great_circle_km, points_of
from analysis.impact.latency_models.distance_model import ideal_ms
from analysis.impact.latency_models.hold_out import (
    Accuracy,
    measure_errors,
    predict_unseen_pairs,
    predict_unseen_places,
)
from analysis.impact.latency_models.kriging import covariance, krige
from analysis.impact.latency_models.pair_matrices import (
    Pairs,
    merge_near,
    mirror_mesh,
    select_possible,
)
from analysis.impact.latency_models.stated_model import STATED
from analysis.impact.places import Client, Region

# Light times in ms at which the curve bends; it is linear in logarithms between them.
_KNOTS_MS = (1.0, 3.0, 10.0, 30.0, 60.0, 120.0)
_PASSES = 30
# Deviations of logarithms below this weigh alike.
_NEAR = 0.02


@dataclass(frozen=True, slots=True)
class PathModel:
    """A fitted model: places (n, 2) and (m, 2), and kriging coefficients (n, m)."""

    curve: Floats
    sources: Floats
    targets: Floats
    coefficients: Floats

    def predict(self, clients: Sequence[Client], regions: Sequence[Region]) -> Floats:
        """Return modelled round trips in ms, clients by regions; none is below that of light."""
        ideal = ideal_ms(clients, regions)
        near_client = covariance(great_circle_km(points_of([c.at for c in clients]), self.sources))
        near_region = covariance(great_circle_km(self.targets, points_of([r.at for r in regions])))
        inflation = np.exp(near_client @ self.coefficients @ near_region)
        return np.asarray(np.maximum(_curve_ms(self.curve, ideal) * inflation, ideal), np.float64)


def fit_paths(pairs: Pairs) -> PathModel:
    """Fit a model to pairs with known places; raise MissingData where they are too few."""
    measured = _prepare(select_possible(pairs)[0])
    curve, coefficients = _Space.of(measured).fit(measured.rtt_ms)
    return PathModel(curve, *measured.ends(), coefficients)


def cross_validate(pairs: Pairs) -> Accuracy:
    """Return errors of fits that leave out places, and pairs; raise MissingData like the fit."""
    possible, n_impossible = select_possible(pairs)
    measured = _prepare(possible)
    return replace(_accuracy(measured, _Space.of(measured)), impossible=n_impossible)


def _prepare(pairs: Pairs) -> Pairs:
    return mirror_mesh(merge_near(pairs))


@dataclass(frozen=True, slots=True)
class _Space:
    """What fits to any part of the same pairs have in common: light times and covariances."""

    ideal: Floats
    sources: Floats
    targets: Floats

    @classmethod
    def of(cls, pairs: Pairs) -> "_Space":
        sources, targets = pairs.ends()
        return cls(
            ideal_ms(pairs.sources, pairs.targets),
            covariance(great_circle_km(sources, sources)),
            covariance(great_circle_km(targets, targets)),
        )

    def fit(self, rtt_ms: Floats) -> tuple[Floats, Floats]:
        """Return the curve and the coefficients of all measured pairs."""
        curve = _fit_curve(self.ideal, rtt_ms)
        residuals = np.log(rtt_ms / _curve_ms(curve, self.ideal))
        return curve, krige(residuals, self.sources, self.targets)

    def predict(self, rtt_ms: Floats) -> Floats:
        """Return round trips of all pairs by a fit to the measured ones among them."""
        curve, coefficients = self.fit(rtt_ms)
        inflation = np.exp(self.sources @ coefficients @ self.targets)
        return np.asarray(np.maximum(_curve_ms(curve, self.ideal) * inflation, self.ideal))


def _accuracy(pairs: Pairs, space: _Space) -> Accuracy:
    rtt_ms, ends = pairs.rtt_ms, pairs.ends()
    stated = STATED.predict(pairs.sources, pairs.targets)
    found = predict_unseen_places(space.predict, rtt_ms, ends)
    seen = predict_unseen_pairs(space.predict, rtt_ms, ends)
    homes = np.array([source.continent for source in pairs.sources])
    continents = {
        str(home): measure_errors(found[homes == home], rtt_ms[homes == home])
        for home in np.unique(homes)
        if home and (np.isfinite(found) & np.isfinite(rtt_ms))[homes == home].any()
    }
    is_tested = np.isfinite(rtt_ms) & np.isfinite(found)
    low, high = (float(end) for end in np.percentile((rtt_ms / found)[is_tested], (10, 90)))
    return Accuracy(
        measure_errors(found, rtt_ms),
        measure_errors(np.where(np.isfinite(found), stated, np.nan), rtt_ms),
        measure_errors(seen, rtt_ms),
        measure_errors(np.where(np.isfinite(seen), stated, np.nan), rtt_ms),
        continents,
        low,
        high,
    )


def _fit_curve(ideal: Floats, measured: Floats) -> Floats:
    """Return coefficients by least absolute deviations of logarithms (reweighted least squares)."""
    is_measured = np.isfinite(measured)
    columns, logs = _basis(ideal[is_measured]), np.log(measured[is_measured])
    weights = np.ones_like(logs)
    for _ in range(_PASSES):
        weighted = columns * weights[:, None]
        found = np.linalg.lstsq(weighted.T @ columns, weighted.T @ logs, rcond=None)[0]
        weights = 1 / np.maximum(np.abs(logs - columns @ found), _NEAR)
    return np.asarray(found, np.float64)


def _basis(ideal: Floats) -> Floats:
    """Return one, the logarithm of the light time plus 1 ms, and its excess over each knot."""
    logs = np.log(ideal + 1.0)
    bends = [np.maximum(logs - np.log(knot + 1.0), 0.0) for knot in _KNOTS_MS]
    return np.stack([np.ones_like(logs), logs, *bends], axis=-1)


def _curve_ms(curve: Floats, ideal: Floats) -> Floats:
    return np.asarray(np.exp(_basis(ideal) @ curve), np.float64)
