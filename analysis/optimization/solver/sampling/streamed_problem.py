"""A problem with costs that are computed from the samples where they are read.

Samples of millions of client-rounds are not copied; levels have 32 bits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Costs
from analysis.optimization.model.units import Units, whole
from analysis.optimization.solver.block_kernels import POINTS
from analysis.optimization.solver.certificate import Ints
from analysis.optimization.solver.cost_kernels import Matrix
from analysis.optimization.solver.problem import Problem, shift_of
from analysis.optimization.solver.search_kernels import Field, as_ints
from core.jit import compile_loop


class StreamedProblem(Problem):
    """The problem of samples that are not converted; only sampled searches use it."""

    def __init__(self, costs: Costs, limits: Limits, size: int) -> None:
        self._highest = costs.highest
        # How values of the field become costs.
        self.units: Units = costs.matrix.units
        values = costs.matrix.values
        shift = shift_of(costs.highest, costs.weights)
        # The costs of all sets that were evaluated.
        self.prices: dict[tuple[int, ...], int] = {}
        super().__init__(Field(values, costs.weights, values, -1, shift, -1), limits, size, 1)

    def _largest(self) -> int:
        return self._highest

    def cost(self, chosen: Any) -> int:
        """Return the exact cost of a set."""
        field, members = self.field, tuple(sorted(int(j) for j in chosen))
        if members not in self.prices:
            rows = as_ints(members)
            cost = streamed_cost(field.values, self.units, field.weights, rows)
            self.prices[members] = int(cost)
        return self.prices[members]

    @property
    def evaluated(self) -> list[tuple[int, ...]]:
        """All sets that were evaluated, best first."""
        return sorted(self.prices, key=lambda members: (self.prices[members], members))

    def savings(self, levels: Ints, rows: Ints) -> Ints:
        """Return the exact savings of some regions beneath levels, (n_rows,) int64."""
        field = self.field
        return streamed_gains(
            field.values, self.units, (field.weights, levels), rows, field.shift, self.lows
        )

    def _lows(self) -> NDArray[np.int32]:
        return streamed_lows(self.field.values, self.units)


@compile_loop
def streamed_lows(values: Matrix, units: Units) -> NDArray[np.int32]:
    """Return the least cost of each region in each block, as ``block_lows`` does."""
    regions, points = values.shape
    lows = np.empty((regions, (points + POINTS - 1) // POINTS), np.int32)
    for a in range(regions):
        for b in range(lows.shape[1]):
            value = values[a, b * POINTS : min(points, b * POINTS + POINTS)]
            least = np.int32(2**31 - 1)
            for i in range(value.size):
                least = min(least, whole(value[i], units))
            lows[a, b] = least
    return lows


@compile_loop
def streamed_gains(
    values: Matrix,
    units: Units,
    points: tuple[Ints, Ints],
    rows: Ints,
    shift: int,
    lows: NDArray[np.int32],
) -> Ints:
    """Return exact savings per region, as ``exact_gains`` does; ``points`` are weights, levels."""
    saved = np.zeros(rows.size, np.int64)
    weights, levels = points
    for b in range(lows.shape[1]):
        start, stop = b * POINTS, min(levels.size, b * POINTS + POINTS)
        level, weight = levels[start:stop], weights[start:stop]
        top = level[0]
        for i in range(stop - start):
            top = max(top, level[i])
        for a in range(rows.size):
            if (np.int64(lows[rows[a], b]) << shift) >= top:
                continue
            value = values[rows[a], start:stop]
            total = np.int64(0)
            for i in range(stop - start):
                below = level[i] - (whole(value[i], units) << shift)
                total += weight[i] * max(below, 0)
            saved[a] += total
    return saved


@compile_loop
def streamed_cost(values: Matrix, units: Units, weights: Ints, chosen: Ints) -> int:
    """Return the exact cost of a set."""
    total = np.int64(0)
    least = np.empty(POINTS, np.int32)
    for start in range(0, weights.size, POINTS):
        count = min(weights.size - start, POINTS)
        for i in range(count):
            least[i] = np.int32(2**31 - 1)
        for a in range(chosen.size):
            value = values[chosen[a], start : start + count]
            for i in range(count):
                least[i] = min(least[i], whole(value[i], units))
        for i in range(count):
            total += weights[start + i] * np.int64(least[i])
    return int(total)
