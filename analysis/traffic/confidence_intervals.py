"""95 % confidence intervals of shares over the sampled clients.

The grouped jackknife: clients fall into groups, each group is left out once, and the spread of the
shares that remain estimates the influence of one group. Takes sums by group; returns intervals.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

N_GROUPS = 32
# With fewer clients than groups an interval would promise more than it can keep.
MIN_CLIENTS = 32
_NORMAL_95 = 1.959964
# By group and cell of a table.
Sums = Mapping[tuple[int, str], int]
Interval = tuple[float | None, float | None]


def find_intervals(sums: Sums, n_clients: int) -> dict[str, Interval]:
    """The interval of each cell's share of all cells; none with too few clients."""
    cells = sorted({cell for _, cell in sums})
    if n_clients < MIN_CLIENTS:
        return dict.fromkeys(cells, (None, None))
    parts = np.zeros((N_GROUPS, len(cells)))
    for (group, cell), value in sums.items():
        parts[group, cells.index(cell)] = value
    return dict(zip(cells, _jackknife(parts), strict=True))


def _jackknife(parts: NDArray[np.float64]) -> list[Interval]:
    total, whole = parts.sum(axis=0), parts.sum()
    rest = whole - parts.sum(axis=1)
    if whole == 0 or (rest == 0).any():
        return [(None, None)] * parts.shape[1]
    left_out = (total - parts) / rest[:, None]
    n_groups = len(parts)
    variance = (n_groups - 1) / n_groups * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    off = _NORMAL_95 * np.sqrt(variance)
    share = total / whole
    low, high = np.clip(share - off, 0, 1).round(6), np.clip(share + off, 0, 1).round(6)
    return list(zip(low.tolist(), high.tolist(), strict=True))
