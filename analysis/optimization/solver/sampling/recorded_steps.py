"""The steps of a dual ascent on some points, repeated on other points.

What a step does to the level of a point depends on the point's own costs, the chosen regions and
the length of the step, not on other points. The steps of an ascent on a sample therefore give the
levels of all points in one pass.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.units import Units, whole
from analysis.optimization.solver.block_kernels import POINTS, Singles
from analysis.optimization.solver.cost_kernels import Ints, Matrix
from core.jit import compile_loop


@dataclass(eq=False)
class StepLog:
    """Steps of one ascent: chosen regions, length, and share of the last direction.

    The first ``marked`` steps give the best approximate levels, the first ``certified`` those with
    the best exact bound.
    """

    best: Ints
    chosen: list[Ints] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    momenta: list[float] = field(default_factory=list)
    marked: int = 0
    certified: int = 0
    is_fresh: bool = True

    def add(self, chosen: Ints, length: float, momentum: float) -> None:
        """Record a step."""
        self.chosen.append(chosen)
        self.lengths.append(length)
        self.momenta.append(0.0 if self.is_fresh else momentum)
        self.is_fresh = False

    def mark(self) -> None:
        """Note that the levels of this moment are the best so far."""
        self.marked = len(self.chosen)

    def certify(self) -> None:
        """Note that the bound of the marked levels is the best exact one so far."""
        self.certified = self.marked

    def revert(self) -> None:
        """Forget the steps after the best levels, and the direction."""
        for steps in (self.chosen, self.lengths, self.momenta):
            del steps[self.marked :]
        self.is_fresh = True


class Steps(NamedTuple):
    """Steps of equal numbers of chosen regions: ``regions`` that any step chose, the places among
    them (n_steps, n_chosen), lengths and momenta (n_steps,), and the incumbent's regions."""

    regions: Ints
    places: Ints
    lengths: NDArray[np.float32]
    momenta: NDArray[np.float32]
    best: Ints


class Origin(NamedTuple):
    """Levels before the first step: ``levels`` (n_points,), or where ``share`` is not negative,
    this share of the way from a point's best to its second-best chosen region."""

    levels: NDArray[Any]
    share: float


class BoxCosts(NamedTuple):
    """Fixed and free regions, the least cost of each region in each block, and the largest cost."""

    inside: Ints
    rows: Ints
    lows: NDArray[np.int32]
    worst: int


class Block(NamedTuple):
    """Numbers of the points of one block: largest levels, costs of the best and second-best chosen
    region, levels, scale and direction of steps, and the costs of the regions of all steps."""

    ceiling: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    most: Singles
    level: Singles
    size: Singles
    turned: Singles
    slope: Singles
    costs: Singles


def steps_of(log: StepLog) -> Steps:
    """Return the steps up to the levels with the best exact bound."""
    count = log.certified
    if not count:
        none = np.empty(0, np.float32)
        return Steps(np.empty(0, np.int64), np.empty((0, 1), np.int64), none, none, log.best)
    chosen = np.stack(log.chosen[:count])
    regions, places = np.unique(chosen, return_inverse=True)
    return Steps(
        regions.astype(np.int64),
        places.reshape(chosen.shape).astype(np.int64),
        np.array(log.lengths[:count], np.float32),
        np.array(log.momenta[:count], np.float32),
        log.best,
    )


@compile_loop
def empty_block(regions: int) -> Block:
    """Return a block to be filled."""
    return Block(
        np.empty(POINTS, np.int32),
        np.empty(POINTS, np.int32),
        np.empty(POINTS, np.int32),
        np.empty(POINTS, np.float32),
        np.empty(POINTS, np.float32),
        np.empty(POINTS, np.float32),
        np.empty(POINTS, np.float32),
        np.empty(POINTS, np.float32),
        np.empty((regions, POINTS), np.float32),
    )


@compile_loop
def cap_levels(values: Matrix, units: Units, box: BoxCosts, block: Block, place: int) -> bool:
    """Write the least cost of the fixed regions; return whether a free region is below it."""
    start, ceiling = place * POINTS, block.ceiling
    count = min(values.shape[1] - start, POINTS)
    for i in range(count):
        ceiling[i] = box.worst
    for a in range(box.inside.size):
        value = values[box.inside[a], start : start + count]
        for i in range(count):
            ceiling[i] = min(ceiling[i], whole(value[i], units))
    top = np.int32(0)
    for i in range(count):
        top = max(top, ceiling[i])
    is_active = False
    for a in range(box.rows.size):
        is_active = is_active or box.lows[box.rows[a], place] < top
    return is_active


@compile_loop
def find_nearest(
    values: Matrix, units: Units, best: Ints, block: Block, span: tuple[int, int, int]
) -> None:
    """Write the costs of the best and the second-best region of the incumbent.

    ``span`` is the first point, the number of points and the largest cost.
    """
    (start, count, worst), first, second = span, block.first, block.second
    for i in range(count):
        first[i] = worst
        second[i] = worst
    for a in range(best.size):
        value = values[best[a], start : start + count]
        for i in range(count):
            cost = whole(value[i], units)
            second[i] = min(second[i], max(cost, first[i]))
            first[i] = min(first[i], cost)


@compile_loop
def initialize_levels(
    origin: Origin, block: Block, span: tuple[int, int], shifts: tuple[int, int]
) -> None:
    """Write the levels before the first step, and the scale of steps; ``span`` are the first point
    and the number of points."""
    (start, count), (fine, coarse) = span, shifts
    unit, step = np.float64(np.int64(1) << (fine + coarse)), np.float64(np.int64(1) << coarse)
    for i in range(count):
        block.most[i] = np.float32(block.ceiling[i] / step)
        block.size[i] = np.float32(max(block.first[i], np.int32(1)) / step)
        block.turned[i] = np.float32(0)
    if origin.share >= 0:
        for i in range(count):
            apart = block.second[i] - block.first[i]
            level = (block.first[i] + origin.share * apart) / step
            block.level[i] = np.float32(min(level, np.float64(block.most[i])))
    else:
        for i in range(count):
            level = origin.levels[start + i] / unit
            block.level[i] = np.float32(min(level, np.float64(block.most[i])))


@compile_loop
def step_block(steps: Steps, block: Block, count: int) -> None:
    """Take all steps in one block, as ``turn`` and ``advance_roughly`` do."""
    slope, level, most, turned = block.slope, block.level, block.most, block.turned
    for step in range(steps.lengths.size):
        momentum, length = steps.momenta[step], steps.lengths[step]
        for i in range(count):
            slope[i] = np.float32(1)
        for a in range(steps.places.shape[1]):
            cost = block.costs[steps.places[step, a]]
            for i in range(count):
                slope[i] -= np.float32(1) if cost[i] < level[i] else np.float32(0)
        for i in range(count):
            is_free = slope[i] < 0 or level[i] < most[i]
            turned[i] = (slope[i] if is_free else np.float32(0)) + momentum * turned[i]
            moved = level[i] + length * block.size[i] * turned[i]
            level[i] = max(np.float32(0), min(moved, most[i]))


@compile_loop
def repeat_steps(
    values: Matrix,
    units: Units,
    origin: Origin,
    box: BoxCosts,
    steps: Steps,
    shifts: tuple[int, int],
) -> Ints:
    """Return levels after the steps, (n_points,) of the type of ``origin.levels``.

    ``shifts`` are the fractional bits of levels, and the bits of costs that steps omit.
    """
    points, (fine, coarse) = values.shape[1], shifts
    found = np.empty(points, origin.levels.dtype)
    unit = np.float64(np.int64(1) << (fine + coarse))
    block = empty_block(steps.regions.size)
    for b in range(box.lows.shape[1]):
        start = b * POINTS
        count = min(points - start, POINTS)
        # Where no free region is below the ceiling, it is the best level.
        if not cap_levels(values, units, box, block, b):
            for i in range(count):
                found[start + i] = np.int64(block.ceiling[i]) << fine
            continue
        find_nearest(values, units, steps.best, block, (start, count, box.worst))
        initialize_levels(origin, block, (start, count), shifts)
        for a in range(steps.regions.size):
            value, cost = values[steps.regions[a], start : start + count], block.costs[a]
            for i in range(count):
                cost[i] = np.float32(whole(value[i], units) >> coarse)
        step_block(steps, block, count)
        for i in range(count):
            level = np.int64(np.rint(np.float64(block.level[i]) * unit))
            found[start + i] = min(level, np.int64(block.ceiling[i]) << fine)
    return found
