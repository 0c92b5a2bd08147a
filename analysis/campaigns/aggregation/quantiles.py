"""Mean, standard deviation and exact quantiles of values grouped by cell.

Small cells of similar sizes are padded to one matrix and sorted by row, which is fast. Large cells
are not sorted as a whole: only the histogram bins around the quantiles are.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.aggregation import kernels, quantile_kernels

Floats32 = NDArray[np.float32]
# Cells with more values are not sorted as a whole.
LARGE_CELL = 2_000
# Values of one matrix; larger ones exceed the CPU caches, smaller ones cost more calls.
_BLOCK_VALUES = 1 << 20


def describe(
    values: Floats32, begins: NDArray[np.int64], shares: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return (n_cells, FIXED_FIGURES + n_shares) float64: mean, sd, minimum, quantiles (linear
    interpolation), maximum; NaN for an empty cell. Cell i is ``values[begins[i]:begins[i + 1]]``.
    """
    out = np.full((len(begins) - 1, kernels.FIXED_FIGURES + len(shares)), np.nan)
    lengths = np.diff(begins)
    wanted, begins = np.array(shares), np.ascontiguousarray(begins)
    large = lengths > LARGE_CELL
    if large.any():
        quantile_kernels.describe_large(values, begins, np.flatnonzero(large), wanted, out)
    for cells in _group_by_length(np.where(large, 0, lengths)):
        block = np.full((len(cells), int(lengths[cells].max())), np.inf, np.float32)
        kernels.copy_runs(values, begins, cells, block)
        block.sort(axis=1)
        kernels.describe_rows(block, lengths[cells], wanted, cells, out)
    return out


def _group_by_length(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield groups of non-empty cells with lengths within a factor of two."""
    sizes = np.frexp(lengths.astype(np.float64))[1]
    for size in np.unique(sizes[lengths > 0]):
        cells = np.flatnonzero((sizes == size) & (lengths > 0))
        rows = max(1, _BLOCK_VALUES >> int(size))
        for begin in range(0, len(cells), rows):
            yield cells[begin : begin + rows]
