"""Compiled depth-first search: sets of regions that multipliers cannot exclude, evaluated exactly.

In goes a box (regions inside, regions free) with multipliers; out come the best sets in it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.cost_kernels import (
    BLOCK,
    Ints,
    Matrix,
    capped,
    gains,
    joint_cost,
    lower,
    weigh,
)
from core.jit import compile_loop


class Field(NamedTuple):
    """Costs per region and point; ``exact`` differs where a point without an answer is dropped.

    ``also`` is a region that belongs to every set, where a set counts by its worst single loss.
    """

    values: Matrix
    weights: Ints
    exact: Matrix
    lost: int
    shift: int
    also: int


class Rules(NamedTuple):
    """What a set must keep to: providers with room, a purse, groups that need members."""

    provider: Ints
    room: Ints
    price: Ints
    purse: int
    groups: Ints
    needs: Ints


class Dual(NamedTuple):
    """Multipliers: a level per point, and what prices and groups add per region and at once."""

    levels: Ints
    start: int
    offset: Ints


class Podium(NamedTuple):
    """The best sets so far, best first; costs of empty places are the cut-off."""

    costs: Ints
    sets: NDArray[np.int64]
    spent: Ints


class Stack(NamedTuple):
    """What each depth of the search remembers."""

    rows: Ints
    saved: Ints
    width: Ints
    place: Ints
    sure: Ints
    taken: Ints
    least: Ints
    levels: Ints
    chosen: Ints


Whole = int | np.int64

# A cost that no point has: the region gave no answer there.
MISSING = 2**31 - 1
# The cost of a set that answers nothing, above all sums.
NOTHING_HEARD = 2**62


@compile_loop
def answered_cost(field: Field, chosen: Ints) -> np.int64:
    """Weigh a set's cost, where a point that no region answered costs ``lost``.

    A set that answers no point costs more than any other.
    """
    total = np.int64(0)
    heard = False
    for i in range(field.weights.size):
        least = np.int64(MISSING)
        for a in range(chosen.size):
            least = min(least, np.int64(field.exact[chosen[a], i]))
        heard = heard or (least != MISSING and field.weights[i] > 0)
        total += field.weights[i] * (field.lost if least == MISSING else least)
    return total if heard else np.int64(NOTHING_HEARD)


@compile_loop
def rest_cost(field: Field, chosen: Ints, skipped: int) -> np.int64:
    """Weigh a set without one of its places."""
    total = np.int64(0)
    least = np.empty(BLOCK, np.int32)
    points = field.weights.size
    for start in range(0, points, BLOCK):
        size = min(BLOCK, points - start)
        least[:size] = MISSING
        for a in range(chosen.size):
            if a != skipped:
                row = field.values[chosen[a], start : start + size]
                for i in range(size):
                    least[i] = min(least[i], row[i])
        weight = field.weights[start : start + size]
        for i in range(size):
            total += weight[i] * np.int64(least[i])
    return total


@compile_loop
def loss_cost(field: Field, chosen: Ints, cutoff: int) -> np.int64:
    """Weigh a set after the loss of the one region that costs most, or give up at the cut-off."""
    worst = np.int64(0)
    for a in range(chosen.size):
        worst = max(worst, rest_cost(field, chosen, a))
        if worst >= cutoff:
            break
    return worst


@compile_loop
def ascending(chosen: Ints) -> Ints:
    """Give a copy in ascending order."""
    members = chosen.copy()
    for a in range(1, members.size):
        row, b = members[a], a
        while b > 0 and members[b - 1] > row:
            members[b] = members[b - 1]
            b -= 1
        members[b] = row
    return members


@compile_loop
def same(one: Ints, other: Ints) -> bool:
    """Say whether two lists are equal."""
    alike = True
    for a in range(one.size):
        alike = alike and one[a] == other[a]
    return alike


@compile_loop
def copy(source: Ints, place: Ints) -> None:
    """Copy a row of the same length; an assignment of slices would take seconds to compile."""
    for i in range(source.size):
        place[i] = source[i]


@compile_loop
def record(podium: Podium, cost: np.int64, chosen: Ints) -> None:
    """Put a set in its place, unless it stands there already."""
    members = ascending(chosen)
    last = podium.costs.size - 1
    if cost >= podium.costs[last]:
        return
    for a in range(podium.costs.size):
        if podium.costs[a] == cost and same(podium.sets[a], members):
            return
    a = last
    while a > 0 and podium.costs[a - 1] > cost:
        podium.costs[a] = podium.costs[a - 1]
        copy(podium.sets[a - 1], podium.sets[a])
        a -= 1
    podium.costs[a] = cost
    copy(members, podium.sets[a])


@compile_loop
def fits(rules: Rules, chosen: Ints, size: Whole, row: int) -> bool:
    """Say whether one more region breaks no ceiling."""
    alike = 0
    price = rules.price[row]
    for a in range(size):
        alike += rules.provider[chosen[a]] == rules.provider[row]
        price += rules.price[chosen[a]]
    return bool(alike < rules.room[rules.provider[row]] and price <= rules.purse)


@compile_loop
def meets(rules: Rules, chosen: Ints) -> bool:
    """Say whether every group that needs members has them."""
    for g in range(rules.needs.size):
        members = 0
        for a in range(chosen.size):
            members += rules.groups[g, chosen[a]]
        if members < rules.needs[g]:
            return False
    return True


@compile_loop
def judge(field: Field, rules: Rules, podium: Podium, chosen: Ints, cost: np.int64) -> None:
    """Record a complete set that keeps to the rules."""
    if cost >= podium.costs[-1] or not meets(rules, chosen):
        return
    if field.also >= 0:
        whole = np.empty(chosen.size + 1, np.int64)
        whole[:-1] = chosen
        whole[-1] = field.also
        record(podium, loss_cost(field, whole, podium.costs[-1]), whole)
    elif field.lost >= 0:
        record(podium, answered_cost(field, chosen), chosen)
    else:
        record(podium, cost, chosen)


@compile_loop
def promising(stack: Stack, depth: Whole, left: Whole, place: int, worth: int) -> bool:
    """Say whether the best that may follow at this place could beat the cut-off."""
    if place + left > stack.width[depth]:
        return False
    hope = stack.sure[depth]
    for a in range(place, place + left):
        hope -= stack.saved[depth, a]
    return bool(hope <= worth)


@compile_loop
def order_by_savings(rows: Ints, saved: Ints, count: int) -> None:
    """Order regions by what they save, best first; Shell's sort, which compiles in no time."""
    gap = count // 2
    while gap > 0:
        for a in range(gap, count):
            row, value = rows[a], saved[a]
            b = a
            while b >= gap and saved[b - gap] < value:
                rows[b], saved[b] = rows[b - gap], saved[b - gap]
                b -= gap
            rows[b], saved[b] = row, value
        gap //= 2


@compile_loop
def fill(field: Field, dual: Dual, stack: Stack, depth: Whole, rows: Ints) -> None:
    """Weigh the free regions of a depth anew, best first, now that more regions are chosen."""
    levels, least = stack.levels[depth], stack.least[depth]
    sure = capped(field.weights, dual.levels, least, field.shift, levels)
    stack.sure[depth] = sure + dual.start - stack.taken[depth]
    fresh = gains(field.values, field.weights, levels, rows, field.shift)
    for a in range(rows.size):
        stack.rows[depth, a] = rows[a]
        stack.saved[depth, a] = fresh[a] + dual.offset[rows[a]]
    order_by_savings(stack.rows[depth], stack.saved[depth], rows.size)


@compile_loop
def enter(field: Field, dual: Dual, stack: Stack, depth: Whole, left: Whole) -> int:
    """Fill the next depth with the regions after this place; give the rows that were read."""
    here, count = stack.place[depth] - 1, stack.width[depth]
    row, below = stack.rows[depth, here], depth + 1
    follow = count - here - 1
    lower(field.values, row, stack.least[depth], stack.least[below])
    stack.width[below], stack.place[below] = follow, 0
    rows, saved = stack.rows[depth, here + 1 : count], stack.saved[depth, here + 1 : count]
    if left == 1:
        stack.sure[below] = stack.sure[depth] - stack.saved[depth, here]
        stack.rows[below, :follow] = rows
        stack.saved[below, :follow] = saved
        return 1
    stack.taken[below] = stack.taken[depth] + dual.offset[row]
    fill(field, dual, stack, below, rows)
    return int(follow + 2)


@compile_loop
def prepare(field: Field, dual: Dual, inside: Ints, rows: Ints, size: int) -> Stack:
    """Lay out the stack, with its first depth filled."""
    deep, wide, points = size - inside.size + 1, max(rows.size, 1), field.weights.size
    stack = Stack(
        np.zeros((deep, wide), np.int64),
        np.zeros((deep, wide), np.int64),
        np.zeros(deep, np.int64),
        np.zeros(deep, np.int64),
        np.zeros(deep, np.int64),
        np.zeros(deep, np.int64),
        np.full((deep, points), np.int64(MISSING)),
        np.zeros((deep, points), np.int64),
        np.zeros(size, np.int64),
    )
    for a in range(inside.size):
        stack.chosen[a] = inside[a]
        stack.taken[0] += dual.offset[inside[a]]
        lower(field.values, inside[a], stack.least[0], stack.least[0])
    # As a plain 0 it would be compiled once more.
    fill(field, dual, stack, np.int64(0), rows)
    stack.width[0] = rows.size
    return stack


@compile_loop
def step(
    field: Field, rules: Rules, dual: Dual, stack: Stack, podium: Podium, depth: Whole
) -> Whole:
    """Take the next region at a depth; give the depth to go on at."""
    size = stack.chosen.size
    inside = size - stack.width.size + 1
    left, place = size - inside - depth, stack.place[depth]
    worth = (podium.costs[-1] - 1) << field.shift
    if not promising(stack, depth, left, place, worth):
        return depth - 1
    stack.place[depth] += 1
    row = stack.rows[depth, place]
    if not fits(rules, stack.chosen, inside + depth, row):
        return depth
    stack.chosen[inside + depth] = row
    if left > 1:
        podium.spent[0] += enter(field, dual, stack, depth, left - 1)
        return depth + 1
    podium.spent[0] += 1
    cost = joint_cost(field.values, field.weights, stack.least[depth], row)
    judge(field, rules, podium, stack.chosen, cost)
    return depth


@compile_loop
def agree(rules: Rules, inside: Ints) -> bool:
    """Say whether the regions inside a box break no ceiling by themselves."""
    fine = True
    for a in range(inside.size):
        fine = fine and fits(rules, inside, a, inside[a])
    return fine


@compile_loop
def explore(
    field: Field, rules: Rules, dual: Dual, box: tuple[Ints, Ints], podium: Podium, budget: int
) -> bool:
    """Search a box to its end, or until more rows than the budget were read."""
    inside, rows = box
    if not agree(rules, inside):
        return True
    stack = prepare(field, dual, inside, rows, podium.sets.shape[1] - (field.also >= 0))
    if inside.size == stack.chosen.size:
        judge(field, rules, podium, stack.chosen, weigh(field.weights, stack.least[0]))
        return True
    depth: Whole = np.int64(0)
    stop = podium.spent[0] + budget
    while depth >= 0:
        depth = step(field, rules, dual, stack, podium, depth)
        if podium.spent[0] > stop:
            return False
    return True


@compile_loop
def exchange_by_loss(field: Field, chosen: Ints, rows: Ints) -> Ints:
    """Give the worst-loss cost of every exchange of one region outside for one inside."""
    table = np.empty((rows.size, chosen.size), np.int64)
    for a in range(rows.size):
        for place in range(chosen.size):
            tried = chosen.copy()
            tried[place] = rows[a]
            table[a, place] = loss_cost(field, tried, NOTHING_HEARD)
    return table


def as_podium(places: int, size: int, cutoff: int) -> Podium:
    """Give an empty podium."""
    costs = np.full(places, cutoff, np.int64)
    return Podium(costs, np.full((places, size), -1, np.int64), np.zeros(1, np.int64))


def as_ints(items: Any) -> Ints:
    """Give a plain array of whole numbers."""
    return np.asarray(items, dtype=np.int64)
