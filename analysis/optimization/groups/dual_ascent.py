"""Dual ascent for the largest group mean: subgradient steps on levels and on shares of groups.

The largest mean is at least any average of the groups' means, weighted by shares of sum 1; the
average is a k-median problem, which dual levels bound (Held, Wolfe and Crowder 1974). Bounds are
float64; callers must allow for rounding.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.costs import Ints, Matrix
from core.jit import compile_loop, compile_sums

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Weight of the last choice in the frequencies, and of the last gradient in the averages.
CHOICE_SHARE = 0.1
MOMENTUM = 0.7
# Steps without progress after which steps become shorter, and the shortest of them.
MAX_STALLED_STEPS = 12
SHRINK = 0.6
MIN_STEP = 0.02
PROGRESS = 1e-4
# First speed at which shares follow the means of their groups, and the bounds of one step.
SHARE_SPEED = 2.0
MAX_POWER = 3.0
MIN_SHARE = 1e-9


class Box(NamedTuple):
    """Sets that choose ``left`` of ``rows``; the ``skipped`` largest of their savings are lost.

    ``values`` (n_rows, n_points) float32 are the costs of the rows, ``weights`` (n_points,) those
    of points in the means of their groups, which ``starts`` delimits. ``ceiling`` (n_copies,
    n_points) float32 is what the fixed regions cost, in a copy of the points per region that may
    be lost.
    """

    values: Singles
    weights: Singles
    starts: Ints
    ceiling: Singles
    rows: Ints
    left: int
    skipped: int


class State(NamedTuple):
    """Levels (n_copies, n_points) float32 and shares (n_copies, n_groups), those of the best
    bound, and per region the frequency of choice."""

    levels: Singles
    shares: Floats
    best_levels: Singles
    best_shares: Floats
    frequency: Floats


class Work(NamedTuple):
    """Arrays of one ascent: weights of points, direction of levels, averaged means of groups."""

    weighted: Singles
    direction: Singles
    excess: Floats
    saved: Floats


@compile_sums
def weigh_points(box: Box, shares: Floats, weighted: Singles) -> None:
    """Write the weight of each point in the mean of its group, times the share of the group."""
    for c in range(shares.shape[0]):
        for g in range(shares.shape[1]):
            share = np.float32(shares[c, g])
            for i in range(box.starts[g], box.starts[g + 1]):
                weighted[c, i] = share * box.weights[i]


@compile_sums
def write_savings(box: Box, weighted: Singles, levels: Singles, saved: Floats) -> None:
    """Write what each region saves beneath the levels, (n_rows,) float64."""
    zero = np.float32(0)
    for a in range(saved.size):
        saved[a] = 0.0
        for c in range(levels.shape[0]):
            total = zero
            level, weight, value = levels[c], weighted[c], box.values[a]
            for i in range(level.size):
                total += weight[i] * max(level[i] - value[i], zero)
            saved[a] += np.float64(total)


@compile_sums
def sum_levels(weighted: Singles, levels: Singles) -> float:
    """Return the weighted sum of levels."""
    total = 0.0
    for c in range(weighted.shape[0]):
        for i in range(weighted.shape[1]):
            total += np.float64(weighted[c, i] * levels[c, i])
    return total


@compile_sums
def write_slopes(box: Box, state: State, work: Work, chosen: Ints) -> float:
    """Write the direction of each level and the means of groups; return the direction's norm."""
    norm, zero = 0.0, np.float32(0)
    costs = np.empty(box.weights.size, np.float32)
    slopes = np.empty(box.weights.size, np.float32)
    for c in range(state.shares.shape[0]):
        level, direction = state.levels[c], work.direction[c]
        costs[:] = level
        slopes[:] = 1
        for a in range(chosen.size):
            value = box.values[chosen[a]]
            for i in range(level.size):
                below = max(level[i] - value[i], zero)
                costs[i] -= below
                slopes[i] -= below > zero
        for i in range(level.size):
            if slopes[i] > 0 and level[i] >= box.ceiling[c, i]:
                slopes[i] = 0
            direction[i] = slopes[i] + np.float32(MOMENTUM) * direction[i]
            norm += np.float64(work.weighted[c, i] * direction[i] * direction[i])
        for g in range(state.shares.shape[1]):
            mean = 0.0
            for i in range(box.starts[g], box.starts[g + 1]):
                mean += np.float64(box.weights[i] * costs[i])
            work.excess[c, g] = MOMENTUM * work.excess[c, g] + (1 - MOMENTUM) * mean
    return norm


@compile_sums
def move(box: Box, state: State, work: Work, step: float, speed: float) -> None:
    """Move levels along their direction, and give weight to groups of large means."""
    single, zero = np.float32(step), np.float32(0)
    for c in range(state.levels.shape[0]):
        level, direction, ceiling = state.levels[c], work.direction[c], box.ceiling[c]
        for i in range(level.size):
            level[i] = max(zero, min(level[i] + single * direction[i], ceiling[i]))
    middle = (state.shares * work.excess).sum()
    for c in range(state.shares.shape[0]):
        for g in range(state.shares.shape[1]):
            power = speed * (work.excess[c, g] - middle)
            power = max(-MAX_POWER, min(MAX_POWER, power))
            state.shares[c, g] = max(state.shares[c, g] * np.exp(power), MIN_SHARE)
    state.shares[:] /= state.shares.sum()


@compile_loop
def choose(box: Box, state: State, saved: Floats) -> Ints:
    """Return the places of the rows that save most, best first, and count their regions in the
    frequencies."""
    top = np.argsort(-saved)[: box.left]
    for a in range(box.rows.size):
        state.frequency[box.rows[a]] *= 1 - CHOICE_SHARE
    for a in range(top.size):
        state.frequency[box.rows[top[a]]] += CHOICE_SHARE
    return top


@compile_loop
def restore(state: State, work: Work) -> None:
    """Return to the multipliers of the best bound, without momentum."""
    state.levels[:] = state.best_levels
    state.shares[:] = state.best_shares
    work.direction[:] = 0


@compile_loop
def create_work(box: Box, state: State) -> Work:
    """Return the arrays of an ascent."""
    shape = state.levels.shape
    return Work(
        np.empty(shape, np.float32),
        np.zeros(shape, np.float32),
        np.zeros(state.shares.shape),
        np.empty(box.rows.size),
    )


@compile_loop
def ascend(box: Box, state: State, target: float, steps: int) -> float:
    """Raise the bound of a box until it is above the target, or steps are over; return it."""
    work = create_work(box, state)
    best, length, stalled = -np.inf, 1.0, 0
    for _ in range(steps):
        weigh_points(box, state.shares, work.weighted)
        write_savings(box, work.weighted, state.levels, work.saved)
        chosen = choose(box, state, work.saved)[box.skipped :]
        bound = sum_levels(work.weighted, state.levels) - work.saved[chosen].sum()
        stalled = 0 if bound > best + PROGRESS * abs(bound) else stalled + 1
        if bound > best:
            best = bound
            state.best_levels[:] = state.levels
            state.best_shares[:] = state.shares
        if best > target or length < MIN_STEP:
            break
        if stalled > MAX_STALLED_STEPS:
            stalled, length = 0, length * SHRINK
            restore(state, work)
            continue
        norm = write_slopes(box, state, work, chosen)
        step = length * max(target - bound, 1e-3 * abs(target)) / max(norm, 1e-12)
        move(box, state, work, step, SHARE_SPEED * length / max(abs(target), 1e-9))
    return float(best)


@compile_loop
def bound_by(
    values: Matrix, weights: Floats, starts: Ints, levels: Floats, shares: Floats
) -> tuple[float, Floats]:
    """Return what is sure at levels and shares, and what each row saves of it, in float64."""
    sure, saved = 0.0, np.zeros(values.shape[0])
    weighted = np.empty(levels.shape)
    for c in range(levels.shape[0]):
        for g in range(shares.shape[1]):
            for i in range(starts[g], starts[g + 1]):
                weighted[c, i] = shares[c, g] * weights[i]
                sure += weighted[c, i] * levels[c, i]
        for a in range(values.shape[0]):
            for i in range(weights.size):
                saved[a] += weighted[c, i] * max(levels[c, i] - values[a, i], 0.0)
    return sure, saved
