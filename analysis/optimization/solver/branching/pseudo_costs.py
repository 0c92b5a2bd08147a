"""Pseudo-costs: how much earlier branches on a region raised the bounds (Benichou et al. 1971)."""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints
from analysis.optimization.solver.lagrangian_bound import Branch

# The first branch is on the region chosen with about this frequency.
EVEN_SHARE = 0.45
# Pseudo-costs are gains per change of frequency, of which this is the least.
MIN_SPAN = 0.1
# Regions chosen less or more often than these are branched on last.
MIN_SHARE, MAX_SHARE = 0.05, 0.95
# The least expected gain, as a share of the mean, and the factor of regions branched on last.
LEAST = 1e-3

Floats = NDArray[np.float64]


class PseudoCosts:
    """How much fixing or excluding a region has raised the bound.

    A region without gains of its own has the mean of all.
    """

    def __init__(self, regions: int) -> None:
        self.sums = np.zeros((2, regions))
        self.counts = np.zeros((2, regions))

    @property
    def known(self) -> bool:
        """Whether both directions have been observed."""
        return bool(self.counts.any(axis=1).all())

    def observe(self, branch: Branch, gain: int) -> None:
        """Record by how much a branch raised the bound of its box."""
        span = 1 - branch.share if branch.is_fixed else branch.share
        self.sums[int(branch.is_fixed), branch.region] += gain / max(span, MIN_SPAN)
        self.counts[int(branch.is_fixed), branch.region] += 1

    def scores(self, rows: Ints, share: Floats) -> Floats:
        """Return the product of expected gains per region; ``share`` are frequencies, (n_rows,).

        Before any gain is known, regions with a frequency near ``EVEN_SHARE`` score best.
        """
        if not self.known:
            even: Floats = -np.abs(share - EVEN_SHARE)
            return even
        mean = self.sums.sum(axis=1, keepdims=True) / self.counts.sum(axis=1, keepdims=True)
        unit = (self.sums[:, rows] + mean) / (self.counts[:, rows] + 1)
        gains = np.maximum(unit * np.stack([share, 1 - share]), LEAST * unit.mean(axis=1)[:, None])
        score: Floats = gains.prod(axis=0)
        score[(share < MIN_SHARE) | (share > MAX_SHARE)] *= LEAST
        return score
