"""Krige residuals of pairs of places: Gaussian process regression over both ends at once.

The covariance of the residuals of two pairs is a product over their ends,

    cov(y(i, j), y(i', j')) = k(km(i, i')) * k(km(j, j')),   k(d) = sum of share * exp(-d / length)

plus independent noise, so that equations of all pairs are solved with two small matrices
(Saatci 2011, section 5.2) by conjugate gradients. Noise has Student's t distribution, by variances
that are reweighted: a pair far from its neighbours counts little (Lange, Little and Taylor 1989).
"""

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Floats

# Lengths in km and shares: of a site, of a country or metropolitan area, and of a continent.
_SCALES = ((10.0, 0.05), (300.0, 0.03), (5000.0, 0.25))
# Variance of the logarithm of one measured pair: about 10 per cent.
NOISE = 0.01
# Degrees of freedom of Student's t.
_FREEDOM = 2.0
_REWEIGHTINGS = 4
# Relative norm of the remaining error at which conjugate gradients end, and the most steps. Values
# of 240 x 240 places are then within 0.2 per cent of those at a tenth of it.
_TOLERANCE = 1e-3
_MAX_STEPS = 500


def covariance(km: Floats) -> Floats:
    """Return the covariance of one end by distance in km; not-a-number stays."""
    return np.asarray(sum(share * np.exp(-km / length) for length, share in _SCALES), np.float64)


def krige(residuals: Floats, sources: Floats, targets: Floats) -> Floats:
    """Return coefficients ``a`` of a fit; ``covariance @ a @ covariance`` gives residuals.

    ``residuals`` is (n_sources, n_targets), not-a-number where no pair was measured; ``sources``
    and ``targets`` are covariances between all sources and between all targets. Coefficients are 0
    where no pair was measured.
    """
    is_known = np.isfinite(residuals)
    known = np.where(is_known, residuals, 0.0)
    noise = np.full(residuals.shape, NOISE)
    found = np.zeros(residuals.shape)
    for _ in range(_REWEIGHTINGS):
        found = solve(known, is_known, noise, (sources, targets), found)
        # The equations give the error of each known pair without another product.
        off = noise * found
        noise = NOISE * (_FREEDOM + off**2 / NOISE) / (_FREEDOM + 1)
    return found


def solve(
    known: Floats,
    is_known: NDArray[np.bool_],
    noise: Floats,
    covariances: tuple[Floats, Floats],
    start: Floats,
) -> Floats:
    """Solve the kriging equations of the known pairs by conjugate gradients, scaled by noise."""
    sources, targets = covariances
    scale = np.where(is_known, 1 / np.sqrt(noise), 0.0)
    found = np.where(is_known, start * np.sqrt(noise), 0.0)
    right = known * scale
    residue = right - scale * (sources @ (scale * found) @ targets) - found
    step = residue.copy()
    size, least = float((residue**2).sum()), _TOLERANCE**2 * float((right**2).sum())
    for _ in range(_MAX_STEPS):
        if size <= least:
            break
        image = scale * (sources @ (scale * step) @ targets) + step
        length = size / float((step * image).sum())
        found = found + length * step
        residue = residue - length * image
        before, size = size, float((residue**2).sum())
        step = residue + size / before * step
    return np.asarray(found * scale, np.float64)
