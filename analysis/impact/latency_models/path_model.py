"""Model round-trip times where none was measured, from measured pairs of places near both ends.

A curve of round trips over distance is corrected by what measured pairs deviate from it, weighted
by how near they are to the client and to the region (kernel regression over both ends). For client
c and region r with light time x(c, r) in fibre, measured sources i and targets j:

    rtt(c, r) = curve(x(c, r)) * (prior + sum w) / (prior + sum w * curve(x(i, j)) / rtt(i, j))
    w(i, j)   = exp(-km(c, i) / source_km - km(r, j) / target_km)

The quotient is the ratio that minimises the relative error of a weighted mean. Far from everything
measured it tends to one, so that the curve is left. Both lengths are chosen by cross-validation
over sources, and so are the stated errors: no source is in the fit that predicts it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Floats
from analysis.impact.distances import great_circle_km, points_of
from analysis.impact.latency_models.distance_model import ideal_ms
from analysis.impact.latency_models.stated_model import STATED
from analysis.impact.places import Client, Region
from core.errors import MissingData

# Light times in ms at which the curve bends; it is linear in logarithms between them.
_KNOTS_MS = (1.0, 3.0, 10.0, 30.0, 60.0, 120.0)
_SOURCE_KM = (400.0, 600.0, 800.0, 1000.0, 1300.0)
_TARGET_KM = (10.0, 25.0, 50.0, 100.0)
# Weight of the curve beside measured pairs: a pair 2,000 km from the client weighs as much or more.
_PRIOR = 0.01
_PASSES = 30
# Deviations of logarithms below this weigh alike.
_NEAR = 0.02
FOLDS = 5
# With fewer sources or pairs the curve is not determined, and the errors are none.
MIN_SOURCES, MIN_PAIRS = 10, 200
# Below this a measured value is a rounding error, not a round trip.
_LEAST_MS = 0.1


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Relative errors |model - measured| / measured of pairs that the fit has not seen."""

    pairs: int
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of sources left out: of this model, of the stated model of distance, by continent.

    Between ``low`` and ``high`` lie 80 of 100 ratios of measured to modelled values.
    """

    model: HoldOut
    stated: HoldOut
    continents: Mapping[str, HoldOut]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Measured round trips in ms, sources by targets, not-a-number where there is none."""

    sources: tuple[Client, ...]
    targets: tuple[Region, ...]
    rtt_ms: Floats


@dataclass(frozen=True, slots=True)
class PathModel:
    """A fitted model; ``correction`` is curve / measured by source and target, nan without."""

    curve: Floats
    sources: Floats
    targets: Floats
    correction: Floats
    source_km: float
    target_km: float

    def predict(self, clients: Sequence[Client], regions: Sequence[Region]) -> Floats:
        """Return modelled round trips in ms, clients by regions; none is below that of light."""
        ideal = ideal_ms(clients, regions)
        near_client = great_circle_km(points_of([c.at for c in clients]), self.sources)
        near_region = great_circle_km(self.targets, points_of([r.at for r in regions]))
        factor = _factor(
            self.correction,
            np.exp(-near_client / self.source_km),
            np.exp(-near_region / self.target_km),
        )
        return np.asarray(np.maximum(_curve_ms(self.curve, ideal) * factor, ideal), np.float64)


def fit_paths(pairs: Pairs) -> tuple[PathModel, Accuracy]:
    """Fit a model to pairs whose places are known; raise MissingData where they are too few."""
    placed = _placed(pairs)
    n_sources, n_pairs = len(placed.sources), int(np.isfinite(placed.rtt_ms).sum())
    if n_sources < MIN_SOURCES or n_pairs < MIN_PAIRS:
        raise MissingData(
            f"a model of paths needs {MIN_SOURCES} sources and {MIN_PAIRS} pairs with places and "
            f"round-trip times; there are {n_sources} and {n_pairs}"
        )
    held = _predict_held(placed, np.arange(n_sources) % FOLDS)
    lengths = min(held, key=lambda one: _loss(held[one], placed.rtt_ms))
    return _fit(placed, *lengths), _accuracy(placed, held[lengths])


def _placed(pairs: Pairs) -> Pairs:
    """Return the sources and targets that have a place and a round trip of more than zero."""
    rtt_ms = np.where(pairs.rtt_ms >= _LEAST_MS, pairs.rtt_ms, np.nan)
    has_pair = np.isfinite(rtt_ms)
    rows = [i for i, c in enumerate(pairs.sources) if c.at is not None and has_pair[i].any()]
    columns = [j for j, r in enumerate(pairs.targets) if r.at is not None and has_pair[:, j].any()]
    return Pairs(
        tuple(pairs.sources[i] for i in rows),
        tuple(pairs.targets[j] for j in columns),
        rtt_ms[np.ix_(rows, columns)],
    )


def _predict_held(pairs: Pairs, fold: NDArray[np.intp]) -> dict[tuple[float, float], Floats]:
    """Return predictions of all sources by fits to the other folds, for each pair of lengths."""
    sources, targets = _points(pairs)
    between_sources = great_circle_km(sources, sources)
    between_targets = great_circle_km(targets, targets)
    ideal = ideal_ms(pairs.sources, pairs.targets)
    found = {one: np.full(ideal.shape, np.nan) for one in product(_SOURCE_KM, _TARGET_KM)}
    for number in range(FOLDS):
        kept, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        curve = _fit_curve(ideal[kept], pairs.rtt_ms[kept])
        correction = _curve_ms(curve, ideal[kept]) / pairs.rtt_ms[kept]
        base = _curve_ms(curve, ideal[out])
        for source_km, target_km in found:
            near_source = np.exp(-between_sources[np.ix_(out, kept)] / source_km)
            factor = _factor(correction, near_source, np.exp(-between_targets / target_km))
            found[source_km, target_km][out] = np.maximum(base * factor, ideal[out])
    return found


def _fit(pairs: Pairs, source_km: float, target_km: float) -> PathModel:
    ideal = ideal_ms(pairs.sources, pairs.targets)
    curve = _fit_curve(ideal, pairs.rtt_ms)
    correction = _curve_ms(curve, ideal) / pairs.rtt_ms
    return PathModel(curve, *_points(pairs), correction, source_km, target_km)


def _points(pairs: Pairs) -> tuple[Floats, Floats]:
    """Return the places of sources and of targets."""
    return points_of([c.at for c in pairs.sources]), points_of([r.at for r in pairs.targets])


def _factor(correction: Floats, near_source: Floats, near_target: Floats) -> Floats:
    """Return what the curve is multiplied by, from the nearness of both ends of each pair."""
    is_measured = np.isfinite(correction)
    weight = near_source @ is_measured.astype(np.float64) @ near_target
    corrected = near_source @ np.where(is_measured, correction, 0.0) @ near_target
    return np.asarray((_PRIOR + weight) / (_PRIOR + corrected), np.float64)


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


def _loss(found: Floats, measured: Floats) -> float:
    """Return the sum of the median and the 90th percentile of relative errors."""
    errors = _errors(found, measured)
    return errors.median + errors.p90


def _errors(found: Floats, measured: Floats) -> HoldOut:
    known = np.isfinite(measured) & np.isfinite(found)
    relative = np.abs(found[known] - measured[known]) / measured[known]
    median, p90 = np.percentile(relative, (50, 90))
    return HoldOut(int(known.sum()), float(median), float(p90))


def _accuracy(pairs: Pairs, found: Floats) -> Accuracy:
    stated = STATED.predict(pairs.sources, pairs.targets)
    homes = np.array([source.continent for source in pairs.sources])
    continents = {
        str(home): _errors(found[homes == home], pairs.rtt_ms[homes == home])
        for home in np.unique(homes)
        if home
    }
    ratios = (pairs.rtt_ms / found)[np.isfinite(pairs.rtt_ms)]
    low, high = (float(end) for end in np.percentile(ratios, (10, 90)))
    return Accuracy(
        _errors(found, pairs.rtt_ms), _errors(stated, pairs.rtt_ms), continents, low, high
    )
