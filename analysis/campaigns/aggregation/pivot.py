"""The means of a grid as a matrix of vantage points and regions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pivot:
    """Means (n_vantages, n_regions) float64, NaN without a value."""

    vantages: tuple[str, ...]
    regions: tuple[str, ...]
    means: Floats
    higher_is_better: bool = False

    def counts(self) -> dict[str, Row]:
        """Count by region: vantage points with and without a value, and those it is best for."""
        answered = np.isfinite(self.means)
        counts = answered.sum(axis=0)
        best = np.bincount(self.best()[answered.any(axis=1)], minlength=len(self.regions))
        return {
            region: {
                "vantages": int(counts[at]),
                "without_value": int(len(self.vantages) - counts[at]),
                "best_for": int(best[at]),
            }
            for at, region in enumerate(self.regions)
        }

    def best(self) -> NDArray[np.int64]:
        """Return the best region of each vantage point, (n_vantages,) int64; first among equals."""
        sign = -1.0 if self.higher_is_better else 1.0
        filled = np.where(np.isfinite(self.means), self.means * sign, np.inf)
        if not self.regions:
            return np.zeros(len(self.vantages), np.int64)
        found: NDArray[np.int64] = filled.argmin(axis=1)
        return found

    def factors(self) -> dict[str, Row]:
        """Return by vantage point with any value: best region, worst region, the ratio of means."""
        sign = 1.0 if self.higher_is_better else -1.0
        answered = np.isfinite(self.means) & (self.means > 0)
        rows: dict[str, Row] = {}
        if not self.regions:
            return rows
        worst = np.where(answered, self.means * sign, np.inf).argmin(axis=1)
        best = np.where(answered, -self.means * sign, np.inf).argmin(axis=1)
        for at in np.flatnonzero(answered.any(axis=1)):
            one, other = (float(self.means[at, of[at]]) for of in (best, worst))
            rows[self.vantages[at]] = {
                "best": self.regions[best[at]],
                "best_mean": one,
                "worst": self.regions[worst[at]],
                "worst_mean": other,
                "factor": max(one, other) / min(one, other),
            }
        return rows


def build_pivot(grid: pa.Table, *, higher_is_better: bool = False) -> Pivot:
    """Build the matrix of a grid, names sorted."""
    keys = [_codes(grid[name]) for name in ("vantage", "region")]
    means = np.full([len(names) for names, _ in keys], np.nan)
    values = grid["mean"].to_numpy(zero_copy_only=False)
    means[keys[0][1], keys[1][1]] = np.asarray(values, np.float64)
    return Pivot(keys[0][0], keys[1][0], means, higher_is_better)


def _codes(column: pa.ChunkedArray) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    names = coded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=lambda i: str(names[i]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return tuple(str(names[i]) for i in order), rank[coded.indices.to_numpy()]
