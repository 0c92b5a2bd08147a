"""Multipliers of a proof and a matrix of costs go in; what each region may save comes out.

Of the checker alone: the search has loops of its own, so that no fault is shared.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Ints = NDArray[Any]


@compile_loop
def savings(prices: Ints, weights: Ints, levels: Ints, shift: int) -> Ints:
    """Sum per region how far its costs lie beneath the levels, each times its weight."""
    regions, points = prices.shape
    saved = np.zeros(regions, np.int64)
    for j in range(regions):
        total = np.int64(0)
        for i in range(points):
            beneath = levels[i] - (prices[j, i] << shift)
            total += weights[i] * max(beneath, np.int64(0))
        saved[j] = total
    return saved
