"""Compiled loops over groups of points: costs of sets, and the sets of a box one by one.

``values`` is (n_regions, n_points) int32, ``starts`` (n_groups + 1,) int64 delimits the points of
each group. Costs of sets are exact int64 sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.costs import Ints, Matrix
from core.jit import compile_loop

Floats = NDArray[np.float64]

# No set: a cost above all others.
NEVER = 2**31 - 1
# A cost that no set may have is raised to this multiple of the highest that one may.
LIFT = 4
MAX_LIFTED = 2**30


class Points(NamedTuple):
    """Points by group, and whether sets are weighed after their worst loss.

    ``turns`` (n_groups,) is the order in which groups are compared with their caps: those first
    that are seldom below them.
    """

    values: Matrix
    weights: Ints
    starts: Ints
    turns: Ints
    is_robust: bool


class Listing(NamedTuple):
    """The partial sets of a listing: per depth the next place and the least costs.

    ``floor`` (n_rows, n_points) is the least cost of all rows from a place on. Sets below all caps
    are written to ``found`` until it is full.
    """

    rows: Ints
    place: Ints
    least: Matrix
    floor: Matrix
    members: Ints
    depth: Ints
    found: Ints
    price: Ints
    provider: Ints
    capacity: Ints
    budget: int


@compile_loop
def group_sums(points: Points, members: Ints, sums: Ints) -> None:
    """Write the sum of costs per group, after its worst loss where one is to be survived."""
    extra = np.zeros(members.size, np.int64)
    for g in range(points.starts.size - 1):
        total = np.int64(0)
        extra[:] = 0
        for i in range(points.starts[g], points.starts[g + 1]):
            first, second, nearest = np.int64(NEVER), np.int64(NEVER), 0
            for a in range(members.size):
                value = np.int64(points.values[members[a], i])
                if value < first:
                    first, second, nearest = value, first, a
                elif value < second:
                    second = value
            total += points.weights[i] * first
            if points.is_robust:
                extra[nearest] += points.weights[i] * (second - first)
        sums[g] = total + extra.max() if points.is_robust else total


@compile_loop
def score_set(points: Points, totals: Ints, chosen: Ints, mild: float) -> float:
    """Return the largest mean of the groups and ``mild`` of their average."""
    sums = np.empty(totals.size, np.int64)
    group_sums(points, chosen, sums)
    means = sums / totals
    return float(means.max() + mild * means.mean())


@compile_loop
def score_exchanges(points: Points, totals: Ints, chosen: Ints, rows: Ints, mild: float) -> Floats:
    """Return the score of each exchange, (n_rows, n_chosen) float64."""
    table = np.empty((rows.size, chosen.size), np.float64)
    for a in range(rows.size):
        for place in range(chosen.size):
            tried = chosen.copy()
            tried[place] = rows[a]
            table[a, place] = score_set(points, totals, tried, mild)
    return table


@compile_loop
def is_any_above(points: Points, least: Matrix, other: Matrix, caps: Ints) -> bool:
    """Return whether the lesser of two costs per point leaves a group above its cap."""
    for g in points.turns:
        total = np.int64(0)
        for i in range(points.starts[g], points.starts[g + 1]):
            total += points.weights[i] * np.int64(min(least[i], other[i]))
        if total > caps[g]:
            return True
    return False


@compile_loop
def is_below(points: Points, listing: Listing, depth: int, row: int, caps: Ints) -> bool:
    """Return whether a complete set, of which this is the last row, is below all caps."""
    if is_any_above(points, listing.least[depth], points.values[row], caps):
        return False
    if not points.is_robust:
        return True
    sums = np.empty(caps.size, np.int64)
    group_sums(points, listing.members, sums)
    return bool((sums <= caps).all())


@compile_loop
def add_row(points: Points, listing: Listing, depth: int, row: int) -> None:
    """Write the least costs and the first place of the next depth."""
    least, below, values = listing.least[depth], listing.least[depth + 1], points.values[row]
    for i in range(least.size):
        below[i] = min(least[i], values[i])
    listing.place[depth + 1] = listing.place[depth]


@compile_loop
def fits(listing: Listing, size: int, row: int) -> bool:
    """Return whether one more region respects the capacity of its provider and the budget."""
    alike, price = 0, listing.price[row]
    for a in range(size):
        alike += listing.provider[listing.members[a]] == listing.provider[row]
        price += listing.price[listing.members[a]]
    return bool(alike < listing.capacity[listing.provider[row]] and price <= listing.budget)


@compile_loop
def list_sets(points: Points, listing: Listing, caps: Ints, budget: int) -> int:
    """Continue a listing; return how many sets were written to ``found``.

    The listing ends when these are full or so many sets were read; it is complete when the depth
    is -1.
    """
    rows, place, members = listing.rows, listing.place, listing.members
    left, depth, spent, count = place.size, listing.depth[0], 0, 0
    fixed = members.size - left
    while depth >= 0 and spent < budget and count < listing.found.shape[0]:
        here, spent = place[depth], spent + 1
        if here > rows.size - (left - depth) or (
            depth < left - 1
            and is_any_above(points, listing.least[depth], listing.floor[here], caps)
        ):
            depth -= 1
            continue
        place[depth] += 1
        members[fixed + depth] = rows[here]
        if not fits(listing, fixed + depth, rows[here]):
            continue
        if depth < left - 1:
            add_row(points, listing, depth, rows[here])
            depth += 1
        elif is_below(points, listing, depth, rows[here], caps):
            listing.found[count] = members
            count += 1
    listing.depth[0] = depth
    return count


@compile_loop
def mark_costs(points: Points, cap: int, g: int, floor: Matrix, most: Ints) -> bool:
    """Write the highest cost that each point of a group may have; return False if none may."""
    first, last = points.starts[g], points.starts[g + 1]
    slack = cap
    for i in range(first, last):
        slack -= points.weights[i] * np.int64(floor[i])
    for i in range(first, last):
        most[i] = np.int64(floor[i]) + slack // points.weights[i]
    return bool(slack >= 0)


@compile_loop
def lift(points: Points, caps: Ints, floor: Matrix, rows: Ints, lifted: Matrix) -> bool:
    """Write the costs of rows (n_rows, n_points), raised where no set may have them.

    ``floor`` is the least cost of each point in the box. A point that costs more than its group's
    cap leaves it, all others at their least, is in no set that is sought, so that any higher cost
    serves, too. Return False if a group is above its cap at best.
    """
    most = np.empty(floor.size, np.int64)
    for g in range(caps.size):
        if not mark_costs(points, caps[g], g, floor, most):
            return False
    for a in range(rows.size):
        values = points.values[rows[a]]
        for i in range(floor.size):
            value = np.int64(values[i])
            if value > most[i]:
                value = max(value, min(LIFT * most[i] + 1, np.int64(MAX_LIFTED)))
            lifted[a, i] = value
    return True
