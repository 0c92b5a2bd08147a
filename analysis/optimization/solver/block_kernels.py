"""Compiled loops over blocks of similar points, for problems of many points.

A block that no level of which is above a region's least cost is skipped, which is exact. The loops
in float32 on costs of 16 bits only find good dual levels; no bound is taken from them. Shapes are
those of ``cost_kernels``; ``lows`` is (n_regions, n_blocks) int32, the least cost of a region in a
block.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.cost_kernels import Ints, Matrix, weigh
from core.jit import compile_loop, compile_sums

Singles = NDArray[np.float32]

# Points per block.
POINTS = 512


@compile_loop
def block_lows(values: Matrix) -> NDArray[np.int32]:
    """Return the least cost of each region in each block."""
    regions, points = values.shape
    lows = np.empty((regions, (points + POINTS - 1) // POINTS), np.int32)
    for a in range(regions):
        for b in range(lows.shape[1]):
            least = values[a, b * POINTS]
            for i in range(b * POINTS, min(points, b * POINTS + POINTS)):
                least = min(least, values[a, i])
            lows[a, b] = least
    return lows


@compile_loop
def active_blocks(lows: NDArray[np.int32], rows: Ints, ceiling: Singles) -> Ints:
    """Return the blocks in which a region of ``rows`` is below the ceiling of a point."""
    found = np.empty(lows.shape[1], np.int64)
    count = 0
    for b in range(lows.shape[1]):
        top = np.float32(0)
        for i in range(b * POINTS, min(ceiling.size, b * POINTS + POINTS)):
            top = max(top, ceiling[i])
        for a in range(rows.size):
            if lows[rows[a], b] < top:
                found[count] = b
                count += 1
                break
    return found[:count]


@compile_loop
def gather(values: Matrix, order: Ints) -> Matrix:
    """Return the columns of a matrix in another order, or some of them."""
    found = np.empty((values.shape[0], order.size), values.dtype)
    for a in range(values.shape[0]):
        source, target = values[a], found[a]
        for i in range(order.size):
            target[i] = source[order[i]]
    return found


@compile_loop
def shortened(values: Matrix, shift: int) -> NDArray[np.uint16]:
    """Return costs in units of 2**shift, rounded down, in 16 bits."""
    found = np.empty(values.shape, np.uint16)
    for a in range(values.shape[0]):
        source, target = values[a], found[a]
        for i in range(source.size):
            target[i] = source[i] >> shift
    return found


@compile_loop
def lowest(values: Matrix, rows: Ints) -> Matrix:
    """Return the least cost of some regions per point."""
    least: Matrix = values[rows[0]].copy()
    for a in range(1, rows.size):
        value = values[rows[a]]
        for i in range(least.size):
            least[i] = min(least[i], value[i])
    return least


@compile_loop
def settle(
    values: Matrix, weights: Ints, levels: Ints, box: tuple[Ints, Ints], shift: int
) -> tuple[Matrix, Ints, Ints]:
    """Return values, weights and levels without points that no free region serves better.

    ``box`` are the fixed and the free regions; rows of others are not filled. What the settled
    points cost is the weight of a last point of cost 1.
    """
    least = lowest(values, box[0])
    places = np.flatnonzero(lowest(values, box[1]) < least)
    few = np.empty((values.shape[0], places.size + 1), values.dtype)
    for rows in box:
        for a in range(rows.size):
            source, target = values[rows[a]], few[rows[a]]
            for i in range(places.size):
                target[i] = source[places[i]]
            target[places.size] = 1
    weight, level = np.empty(places.size + 1, np.int64), np.empty(places.size + 1, np.int64)
    weight[:-1], level[:-1] = weights[places], levels[places]
    weight[-1] = weigh(weights, least) - weigh(weight[:-1], least[places])
    level[-1] = np.int64(1) << shift
    return few, weight, level


@compile_loop
def exact_gains(
    values: Matrix,
    weights: Ints,
    levels: Ints,
    rows: Ints,
    shift: int,
    lows: NDArray[np.int32],
) -> Ints:
    """Return savings per region, as ``cost_kernels.gains`` does."""
    saved = np.zeros(rows.size, np.int64)
    for b in range(lows.shape[1]):
        start, stop = b * POINTS, min(levels.size, b * POINTS + POINTS)
        level, weight = levels[start:stop], weights[start:stop]
        top = np.int64(0)
        for i in range(stop - start):
            top = max(top, level[i])
        for a in range(rows.size):
            if (np.int64(lows[rows[a], b]) << shift) >= top:
                continue
            value = values[rows[a], start:stop]
            total = np.int64(0)
            for i in range(stop - start):
                below = level[i] - (np.int64(value[i]) << shift)
                total += weight[i] * max(below, np.int64(0))
            saved[a] += total
    return saved


@compile_loop
def copy_blocks(source: Singles, target: Singles, blocks: Ints) -> None:
    """Copy the numbers of some blocks."""
    for b in blocks:
        stop = min(source.size, b * POINTS + POINTS)
        target[b * POINTS : stop] = source[b * POINTS : stop]


@compile_sums
def rough_gains(
    values: Matrix,
    weights: Singles,
    levels: Singles,
    rows: Ints,
    blocks: tuple[Ints, NDArray[np.int32]],
) -> NDArray[np.float64]:
    """Return approximate savings per region, in units of cost; ``blocks`` are active ones, lows."""
    saved = np.zeros(rows.size, np.float64)
    lows = blocks[1]
    for b in blocks[0]:
        start, stop = b * POINTS, min(levels.size, b * POINTS + POINTS)
        level, weight = levels[start:stop], weights[start:stop]
        top = np.float32(0)
        for i in range(stop - start):
            top = max(top, level[i])
        for a in range(rows.size):
            if lows[rows[a], b] >= top:
                continue
            value = values[rows[a], start:stop]
            total = np.float32(0)
            for i in range(stop - start):
                total += weight[i] * max(level[i] - np.float32(value[i]), np.float32(0))
            saved[a] += total
    return saved


@compile_sums
def rough_sum(weights: Singles, levels: Singles) -> float:
    """Return the weighted sum of levels."""
    total = np.float64(0)
    for start in range(0, levels.size, POINTS):
        part = np.float32(0)
        for i in range(start, min(levels.size, start + POINTS)):
            part += weights[i] * levels[i]
        total += np.float64(part)
    return float(total)


@compile_sums
def turn(
    values: Matrix,
    levels: tuple[Singles, Singles],
    chosen: Ints,
    scales: tuple[Singles, Singles],
    direction: Singles,
    how: tuple[float, Ints],
) -> float:
    """Add the subgradient to the direction, with momentum; return its norm, weighted by costs.

    ``levels`` are the levels and their ceiling, ``scales`` the costs of the incumbent and these
    times the weights, ``how`` the momentum and the active blocks.
    """
    weighted, keep = scales[1], np.float32(how[0])
    norm = np.float64(0)
    slope = np.empty(POINTS, np.float32)
    for b in how[1]:
        start = b * POINTS
        count = min(weighted.size - start, POINTS)
        level, most = levels[0][start : start + count], levels[1][start : start + count]
        for i in range(count):
            slope[i] = 1
        for a in range(chosen.size):
            value = values[chosen[a], start : start + count]
            for i in range(count):
                slope[i] -= np.float32(1) if np.float32(value[i]) < level[i] else np.float32(0)
        part = np.float32(0)
        for i in range(count):
            free = slope[i] < 0 or level[i] < most[i]
            turned = (slope[i] if free else np.float32(0)) + keep * direction[start + i]
            direction[start + i] = turned
            part += weighted[start + i] * turned * turned
        norm += np.float64(part)
    return float(norm)


@compile_sums
def advance_roughly(
    levels: tuple[Singles, Singles],
    direction: Singles,
    costs: Singles,
    length: float,
    blocks: Ints,
) -> None:
    """Move the levels along the direction, each in proportion to its cost, up to the ceiling."""
    level, ceiling = levels
    size = np.float32(length)
    for b in blocks:
        for i in range(b * POINTS, min(level.size, b * POINTS + POINTS)):
            moved = level[i] + size * costs[i] * direction[i]
            level[i] = max(np.float32(0), min(moved, ceiling[i]))
