"""Errors of a latency model for pairs that its fit has not seen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Floats

FOLDS = 5
Mask = NDArray[np.bool_]
# Gives predictions of all pairs from the measured ones, not-a-number where one is left out.
Predict = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Relative errors |model - measured| / measured of pairs that the fit has not seen."""

    pairs: int
    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors for clients at places that the fit has not seen, in all and by their continent.

    ``stated`` are those of the stated model for the same pairs. ``seen`` and ``seen_stated`` are
    errors of pairs left out while other pairs of both places are in the fit. Between ``low`` and
    ``high`` lie 80 of 100 ratios of measured to modelled values of unseen places. ``impossible``
    pairs are faster than light in vacuum, and in none of these.
    """

    model: HoldOut
    stated: HoldOut
    seen: HoldOut
    seen_stated: HoldOut
    continents: Mapping[str, HoldOut]
    low: float
    high: float
    impossible: int = 0


def measure_errors(found: Floats, measured: Floats) -> HoldOut:
    """Return the errors of predictions; pairs without a measured or a modelled value are none."""
    known = np.isfinite(measured) & np.isfinite(found)
    relative = np.abs(found[known] - measured[known]) / measured[known]
    median, p90 = np.percentile(relative, (50, 90))
    return HoldOut(int(known.sum()), float(median), float(p90))


def predict_unseen_places(predict: Predict, rtt_ms: Floats, ends: tuple[Floats, Floats]) -> Floats:
    """Predict each pair without any pair of the source's place, as a source or as a target.

    ``ends`` are (n, 2) places of sources and targets; a pair with both ends held out together is
    not-a-number.
    """
    sources, targets = (number % FOLDS for number in number_places(*ends))
    found = np.full(rtt_ms.shape, np.nan)
    for fold in range(FOLDS):
        is_out, is_kept = sources == fold, targets != fold
        seen = np.where(is_out[:, None] | ~is_kept[None, :], np.nan, rtt_ms)
        if np.isfinite(seen).any():
            cells = np.ix_(is_out, is_kept)
            found[cells] = predict(seen)[cells]
    return found


def predict_unseen_pairs(predict: Predict, rtt_ms: Floats, ends: tuple[Floats, Floats]) -> Floats:
    """Predict each pair without that pair of places in either direction.

    A pair that is there in both directions is predicted once, the other time not-a-number.
    """
    sources, targets = number_places(*ends)
    low = np.minimum(sources[:, None], targets[None, :])
    high = np.maximum(sources[:, None], targets[None, :])
    # Neighbouring numbers go to different folds in every row and column.
    folds = (low + 2 * high) % FOLDS
    found = np.full(rtt_ms.shape, np.nan)
    for fold in range(FOLDS):
        is_out = folds == fold
        found[is_out] = predict(np.where(is_out, np.nan, rtt_ms))[is_out]
    return np.where(_is_second(low, high, np.isfinite(rtt_ms), sources), np.nan, found)


def number_places(sources: Floats, targets: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return numbers of the places of sources and targets; equal coordinates are one place."""
    both = np.concatenate([sources, targets])
    numbers = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return numbers[: len(sources)], numbers[len(sources) :]


def _is_second(
    low: NDArray[np.intp], high: NDArray[np.intp], is_known: Mask, sources: NDArray[np.intp]
) -> Mask:
    """Return which cells repeat a pair of places that another cell has from its lower end."""
    pairs = low * (int(high.max()) + 1) + high
    is_lower = sources[:, None] == low
    forward = np.unique(pairs[is_known & is_lower])
    return np.asarray(~is_lower & np.isin(pairs, forward))
