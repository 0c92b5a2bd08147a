"""Compiled loops over the cost matrix, with exact integer sums.

``values`` is (n_regions, n_points) int32; ``weights``, ``levels``, ``least`` are (n_points,) int64.
Dual levels are in units of 1 / 2**shift, so that no rounding enters a bound.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop, compile_sums

Ints = NDArray[np.int64]
Matrix = NDArray[Any]

# Points per block, so that levels and weights stay in the first-level cache.
BLOCK = 2048


@compile_loop
def gains(values: Matrix, weights: Ints, levels: Ints, rows: Ints, shift: int) -> Ints:
    """Return savings per region, (n_rows,) int64: sum of w * max(0, level - value)."""
    saved = np.zeros(rows.size, np.int64)
    for start in range(0, levels.size, BLOCK):
        stop = min(levels.size, start + BLOCK)
        level, weight = levels[start:stop], weights[start:stop]
        for a in range(rows.size):
            value = values[rows[a], start:stop]
            total = np.int64(0)
            for i in range(stop - start):
                below = level[i] - (np.int64(value[i]) << shift)
                total += weight[i] * max(below, np.int64(0))
            saved[a] += total
    return saved


@compile_loop
def lower(values: Matrix, row: int, least: Ints, out: Ints) -> None:
    """Write the minimum of ``least`` and the costs of one region to ``out``."""
    for i in range(least.size):
        out[i] = min(least[i], np.int64(values[row, i]))


@compile_loop
def joint_cost(values: Matrix, weights: Ints, least: Ints, row: int) -> np.int64:
    """Return the cost of a set with one more region."""
    total = np.int64(0)
    for i in range(least.size):
        total += weights[i] * min(least[i], np.int64(values[row, i]))
    return total


@compile_loop
def weigh(weights: Ints, costs: Ints) -> np.int64:
    """Return the weighted sum of costs."""
    total = np.int64(0)
    for i in range(costs.size):
        total += weights[i] * costs[i]
    return total


@compile_loop
def capped(weights: Ints, levels: Ints, least: Ints, shift: int, out: Ints) -> np.int64:
    """Cap levels by the costs of the chosen regions; return their weighted sum."""
    total = np.int64(0)
    for i in range(levels.size):
        out[i] = min(levels[i], least[i] << shift)
        total += weights[i] * out[i]
    return total


@compile_loop
def slopes(values: Matrix, levels: Ints, chosen: Ints, shift: int, slope: NDArray[np.int8]) -> None:
    """Write the subgradient per point: 1 less the number of chosen regions below the level."""
    for i in range(levels.size):
        slope[i] = 1
    for a in range(chosen.size):
        row = values[chosen[a]]
        for i in range(levels.size):
            slope[i] -= (np.int64(row[i]) << shift) < levels[i]


@compile_sums
def update_direction(
    slope: NDArray[np.int8],
    costs: Ints,
    weights: Ints,
    direction: NDArray[np.float32],
    momentum: float,
) -> float:
    """Update the direction with momentum; return its norm, weighted by costs."""
    norm = 0.0
    for i in range(slope.size):
        turned = np.float32(slope[i]) + np.float32(momentum) * direction[i]
        direction[i] = turned
        norm += weights[i] * costs[i] * turned * turned
    return norm


@compile_loop
def advance(
    levels: Ints, direction: NDArray[np.float32], costs: Ints, length: float, ceiling: Ints
) -> None:
    """Move the levels along the direction, each in proportion to its cost, up to the ceiling."""
    for i in range(levels.size):
        moved = levels[i] + np.int64(length * costs[i] * direction[i])
        levels[i] = max(np.int64(0), min(moved, ceiling[i]))


@compile_loop
def two_nearest(values: Matrix, chosen: Ints, worst: int, nearest: tuple[Ints, Ints, Ints]) -> None:
    """Write each point's cost at its best and second-best chosen region, and the index of the
    best."""
    first, second, who = nearest
    for i in range(first.size):
        first[i] = worst
        second[i] = worst
        who[i] = 0
    for a in range(chosen.size):
        row = values[chosen[a]]
        for i in range(first.size):
            value = np.int64(row[i])
            if value < first[i]:
                second[i] = first[i]
                first[i] = value
                who[i] = a
            elif value < second[i]:
                second[i] = value


@compile_loop
def swap_change(
    row: NDArray[Any], weights: Ints, first: Ints, second: Ints, who: Ints, change: Ints
) -> None:
    """Add to ``change`` (n_chosen,) the change of cost if ``row`` replaces each chosen region."""
    gain = np.int64(0)
    for i in range(first.size):
        value = np.int64(row[i])
        if value < second[i]:
            if value < first[i]:
                gain += weights[i] * (first[i] - value)
                change[who[i]] -= weights[i] * (second[i] - first[i])
            else:
                change[who[i]] -= weights[i] * (second[i] - value)
    for a in range(change.size):
        change[a] -= gain


@compile_loop
def swap_table(
    values: Matrix, weights: Ints, nearest: tuple[Ints, Ints, Ints], rows: Ints, slots: int
) -> Ints:
    """Give, for each region outside and each inside, the change of cost of their exchange."""
    first, second, who = nearest
    loss = np.zeros(slots, np.int64)
    for i in range(first.size):
        loss[who[i]] += weights[i] * (second[i] - first[i])
    table = np.empty((rows.size, slots), np.int64)
    for a in range(rows.size):
        table[a] = loss
        swap_change(values[rows[a]], weights, first, second, who, table[a])
    return table
