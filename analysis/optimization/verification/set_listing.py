"""List the sets of a box that cost less than a floor, where the bound of the box does not decide.

Part of the verification only; no code is shared with the search. Regions are added one by one,
those that save most first; a place ends where the bound of its best completion reaches the floor.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from analysis.optimization.verification.deadlines import Deadline
from analysis.optimization.verification.failure_checks import Ints
from core.jit import compile_loop

# Points between comparisons of a partial cost with the floor.
BLOCK = 512
# Cells that are read, and sets that are returned, between looks at the clock.
BUDGET = 20_000_000
MAX_FOUND = 256


class PricedSets(NamedTuple):
    """The problem of a proof: what sets cost, and from which cost on they are of no interest.

    ``exact`` (n_regions, n_points) holds NO_ANSWER, for which a set without an answer pays ``gap``;
    ``priced`` bounds with that price in every cell. Costs below ``floor`` are sought, of what is
    left after the worst loss if ``robust``.
    """

    exact: Ints
    priced: Ints
    weights: Ints
    offset: Ints
    shift: int
    floor: int
    gap: int
    no_answer: int
    robust: bool


class Walk(NamedTuple):
    """The partial sets of a listing: per depth the candidates, by savings, and the next of them."""

    rows: Ints
    saved: Ints
    width: Ints
    place: Ints
    sure: Ints
    levels: Ints
    members: Ints
    depth: Ints
    found: Ints


@compile_loop
def costs_less(sets: PricedSets, members: Ints) -> bool:
    """Return whether a set costs less than the floor."""
    total, extra = np.int64(0), np.zeros(members.size, np.int64)
    worst = np.int64(0)
    for i in range(sets.weights.size):
        first, second, nearest = sets.no_answer, sets.no_answer, 0
        for a in range(members.size):
            price = int(sets.exact[members[a], i])
            if price < first:
                first, second, nearest = price, first, a
            elif price < second:
                second = price
        if first == sets.no_answer:
            first = sets.gap
        total += sets.weights[i] * first
        if sets.robust:
            extra[nearest] += sets.weights[i] * (second - first)
            worst = max(worst, extra[nearest])
        if i % BLOCK == 0 and total + worst >= sets.floor:
            return False
    return bool(total + worst < sets.floor)


@compile_loop
def enter_depth(sets: PricedSets, walk: Walk, depth: int, rows: Ints) -> None:
    """Bound the partial set of a depth; write its candidates, those that save most first."""
    sure, levels = np.int64(0), walk.levels[depth]
    for i in range(levels.size):
        sure += sets.weights[i] * levels[i]
    walk.sure[depth] += sure
    saved = np.empty(rows.size, np.int64)
    for a in range(rows.size):
        prices, total = sets.priced[rows[a]], sets.offset[rows[a]]
        for i in range(levels.size):
            beneath = levels[i] - (np.int64(prices[i]) << sets.shift)
            total += sets.weights[i] * max(beneath, np.int64(0))
        saved[a] = total
    order = np.argsort(-saved, kind="mergesort")
    for a in range(rows.size):
        walk.rows[depth, a] = rows[order[a]]
        walk.saved[depth, a] = saved[order[a]]
    walk.width[depth], walk.place[depth] = rows.size, 0


@compile_loop
def is_excluded(sets: PricedSets, walk: Walk, depth: int, left: int) -> bool:
    """Return whether no completion from the next place on is below the floor."""
    place = walk.place[depth]
    if place + left > walk.width[depth]:
        return True
    bound = walk.sure[depth]
    for a in range(place, place + left):
        bound -= walk.saved[depth, a]
    return bool(bound > (sets.floor - 1) << sets.shift)


@compile_loop
def add_region(sets: PricedSets, walk: Walk, depth: int, row: int) -> None:
    """Add a region to the partial set of a depth."""
    below, place = depth + 1, walk.place[depth]
    for i in range(sets.weights.size):
        price = np.int64(sets.priced[row, i]) << sets.shift
        walk.levels[below, i] = min(walk.levels[depth, i], price)
    # The additions for a member are part of what is sure from here on.
    own = np.int64(0)
    for i in range(sets.weights.size):
        own += sets.weights[i] * walk.levels[depth, i]
    walk.sure[below] = walk.sure[depth] - own - sets.offset[row]
    enter_depth(sets, walk, below, walk.rows[depth, place : walk.width[depth]])


@compile_loop
def list_sets(sets: PricedSets, walk: Walk, budget: int) -> int:
    """Continue a listing; return how many sets were found before the budget was spent.

    The listing is complete when the depth is -1.
    """
    depth, spent, count = walk.depth[0], 0, 0
    fixed = walk.members.size - walk.width.size
    while depth >= 0 and spent < budget and count < walk.found.shape[0]:
        left = walk.width.size - depth
        if is_excluded(sets, walk, depth, left):
            depth -= 1
            continue
        row = walk.rows[depth, walk.place[depth]]
        walk.place[depth] += 1
        walk.members[fixed + depth] = row
        if left > 1:
            add_region(sets, walk, depth, row)
            spent += sets.weights.size * (walk.width[depth + 1] + 2)
            depth += 1
        else:
            spent += sets.weights.size * walk.members.size
            if costs_less(sets, walk.members):
                walk.found[count] = walk.members
                count += 1
    walk.depth[0] = depth
    return count


def create_walk(
    sets: PricedSets, inside: list[int], free: list[int], size: int, bound: tuple[int, Ints]
) -> Walk:
    """Return the walk over the sets of a size that hold ``inside`` and otherwise free regions.

    ``bound`` is what is added to the cost of every set, and the dual levels beneath the costs of
    the regions that every set is bounded with.
    """
    deep, wide, points = size - len(inside), max(len(free), 1), sets.weights.size
    walk = Walk(
        np.zeros((deep, wide), np.int64),
        np.zeros((deep, wide), np.int64),
        np.zeros(deep, np.int64),
        np.zeros(deep, np.int64),
        np.zeros(deep, np.int64),
        np.zeros((deep, points), np.int64),
        np.zeros(size, np.int64),
        np.zeros(1, np.int64),
        np.zeros((MAX_FOUND, size), np.int64),
    )
    walk.members[: len(inside)] = inside
    walk.sure[0], walk.levels[0] = bound
    enter_depth(sets, walk, 0, np.array(free, np.int64))
    return walk


def sets_below(sets: PricedSets, walk: Walk, deadline: Deadline) -> Iterator[frozenset[int]]:
    """Yield the sets that cost less than the floor; raise UnfinishedCheck at the deadline."""
    while walk.depth[0] >= 0:
        for row in walk.found[: list_sets(sets, walk, BUDGET)]:
            yield frozenset(int(j) for j in row)
        deadline.check()
