"""Values that are sorted into cells go in; mean, deviation and exact quantiles of each come out.

Small cells of alike sizes stand in one matrix whose rows are sorted together, which processors do
fast. Of large cells only the values next to the quantiles are sorted.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.aggregation import kernels, quantile_kernels

Floats32 = NDArray[np.float32]
# Cells with more values are not sorted as a whole.
LARGE_CELL = 2_000
# Values of one matrix; larger ones fall out of the caches, smaller ones cost more calls.
_BLOCK_VALUES = 1 << 20


def describe(
    values: Floats32, begins: NDArray[np.int64], shares: tuple[float, ...]
) -> NDArray[np.float64]:
    """One row per cell, whose values stand between its begin and the next one's: mean, standard
    deviation, least, quantiles (linear between neighbours) and greatest; none without a value."""
    out = np.full((len(begins) - 1, kernels.FIXED_FIGURES + len(shares)), np.nan)
    lengths = np.diff(begins)
    wanted, begins = np.array(shares), np.ascontiguousarray(begins)
    large = lengths > LARGE_CELL
    if large.any():
        quantile_kernels.describe_large(values, begins, np.flatnonzero(large), wanted, out)
    for cells in _alike(np.where(large, 0, lengths)):
        block = np.full((len(cells), int(lengths[cells].max())), np.inf, np.float32)
        kernels.copy_runs(values, begins, cells, block)
        block.sort(axis=1)
        kernels.describe_rows(block, lengths[cells], wanted, cells, out)
    return out


def _alike(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Numbers of cells with values, together where one has at most twice as many as another."""
    sizes = np.frexp(lengths.astype(np.float64))[1]
    for size in np.unique(sizes[lengths > 0]):
        cells = np.flatnonzero((sizes == size) & (lengths > 0))
        rows = max(1, _BLOCK_VALUES >> int(size))
        for begin in range(0, len(cells), rows):
            yield cells[begin : begin + rows]
