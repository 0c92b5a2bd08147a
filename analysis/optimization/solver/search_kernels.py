"""Compiled depth-first search of a box: sets not excluded by the dual bound, evaluated exactly.

A box has fixed regions (``inside``) and free regions (``rows``). Costs are exact int64 sums.
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
    """Costs ``values`` (n_regions, n_points) int32 and ``weights`` (n_points,) int64.

    ``exact`` differs from ``values`` where points without an answer are excluded. ``also`` is a
    region added to every set of a remainder problem, -1 for none.
    """

    values: Matrix
    weights: Ints
    exact: Matrix
    lost: int
    shift: int
    also: int


class Rules(NamedTuple):
    """Side constraints: capacity per provider, price budget, groups (n_groups, n_regions) with
    minimum members ``needs``."""

    provider: Ints
    capacity: Ints
    price: Ints
    budget: int
    groups: Ints
    needs: Ints


class Dual(NamedTuple):
    """Dual levels (n_points,) int64, and the constant and per-region terms of side constraints."""

    levels: Ints
    start: int
    offset: Ints


class Incumbents(NamedTuple):
    """The best sets so far, best first; costs of empty places are the cut-off; rows read so far."""

    costs: Ints
    sets: NDArray[np.int64]
    spent: Ints


class Stack(NamedTuple):
    """The state of each depth of the search."""

    rows: Ints
    saved: Ints
    width: Ints
    place: Ints
    sure: Ints
    taken: Ints
    least: Ints
    levels: Ints
    chosen: Ints


Integer = int | np.int64

# A cost above all others: no answer.
MISSING = 2**31 - 1
# The cost of a set without any answer, above all sums.
NO_ANSWER_COST = 2**62


@compile_loop
def answered_cost(field: Field, chosen: Ints) -> np.int64:
    """Return a set's cost, where a point without an answer costs ``lost``.

    A set without any answer costs more than any other.
    """
    total = np.int64(0)
    answered = False
    for i in range(field.weights.size):
        least = np.int64(MISSING)
        for a in range(chosen.size):
            least = min(least, np.int64(field.exact[chosen[a], i]))
        answered = answered or (least != MISSING and field.weights[i] > 0)
        total += field.weights[i] * (field.lost if least == MISSING else least)
    return total if answered else np.int64(NO_ANSWER_COST)


@compile_loop
def rest_cost(field: Field, chosen: Ints, skipped: int) -> np.int64:
    """Return the cost of a set without one of its members."""
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
    """Return the cost of a set after its worst single loss, or a cost at or above the cut-off."""
    worst = np.int64(0)
    for a in range(chosen.size):
        worst = max(worst, rest_cost(field, chosen, a))
        if worst >= cutoff:
            break
    return worst


@compile_loop
def ascending(chosen: Ints) -> Ints:
    """Return a copy in ascending order."""
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
    """Return whether two lists are equal."""
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
def record(incumbents: Incumbents, cost: np.int64, chosen: Ints) -> None:
    """Insert a set into the incumbents, unless it is there already."""
    members = ascending(chosen)
    last = incumbents.costs.size - 1
    if cost >= incumbents.costs[last]:
        return
    for a in range(incumbents.costs.size):
        if incumbents.costs[a] == cost and same(incumbents.sets[a], members):
            return
    a = last
    while a > 0 and incumbents.costs[a - 1] > cost:
        incumbents.costs[a] = incumbents.costs[a - 1]
        copy(incumbents.sets[a - 1], incumbents.sets[a])
        a -= 1
    incumbents.costs[a] = cost
    copy(members, incumbents.sets[a])


@compile_loop
def fits(rules: Rules, chosen: Ints, size: Integer, row: int) -> bool:
    """Return whether one more region respects capacity and budget."""
    alike = 0
    price = rules.price[row]
    for a in range(size):
        alike += rules.provider[chosen[a]] == rules.provider[row]
        price += rules.price[chosen[a]]
    return bool(alike < rules.capacity[rules.provider[row]] and price <= rules.budget)


@compile_loop
def satisfies_groups(rules: Rules, chosen: Ints) -> bool:
    """Return whether every group has its minimum members."""
    for g in range(rules.needs.size):
        members = 0
        for a in range(chosen.size):
            members += rules.groups[g, chosen[a]]
        if members < rules.needs[g]:
            return False
    return True


@compile_loop
def record_feasible(
    field: Field, rules: Rules, incumbents: Incumbents, chosen: Ints, cost: np.int64
) -> None:
    """Record a complete set if it is feasible and below the cut-off."""
    if cost >= incumbents.costs[-1] or not satisfies_groups(rules, chosen):
        return
    if field.also >= 0:
        whole = np.empty(chosen.size + 1, np.int64)
        whole[:-1] = chosen
        whole[-1] = field.also
        record(incumbents, loss_cost(field, whole, incumbents.costs[-1]), whole)
    elif field.lost >= 0:
        record(incumbents, answered_cost(field, chosen), chosen)
    else:
        record(incumbents, cost, chosen)


@compile_loop
def promising(stack: Stack, depth: Integer, left: Integer, place: int, worth: int) -> bool:
    """Return whether the lower bound of completions from this place is below the cut-off."""
    if place + left > stack.width[depth]:
        return False
    bound = stack.sure[depth]
    for a in range(place, place + left):
        bound -= stack.saved[depth, a]
    return bool(bound <= worth)


@compile_loop
def order_by_savings(rows: Ints, saved: Ints, count: int) -> None:
    """Sort regions by savings, descending; a Shell sort, because it compiles fast."""
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
def fill(field: Field, dual: Dual, stack: Stack, depth: Integer, rows: Ints) -> None:
    """Recompute the savings of the free regions of a depth, best first."""
    levels, least = stack.levels[depth], stack.least[depth]
    sure = capped(field.weights, dual.levels, least, field.shift, levels)
    stack.sure[depth] = sure + dual.start - stack.taken[depth]
    fresh = gains(field.values, field.weights, levels, rows, field.shift)
    for a in range(rows.size):
        stack.rows[depth, a] = rows[a]
        stack.saved[depth, a] = fresh[a] + dual.offset[rows[a]]
    order_by_savings(stack.rows[depth], stack.saved[depth], rows.size)


@compile_loop
def enter(field: Field, dual: Dual, stack: Stack, depth: Integer, left: Integer) -> int:
    """Fill the next depth with the regions after this place; return the rows read."""
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
    """Allocate the stack and fill its first depth."""
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
    # A plain 0 would compile a second signature.
    fill(field, dual, stack, np.int64(0), rows)
    stack.width[0] = rows.size
    return stack


@compile_loop
def step(
    field: Field, rules: Rules, dual: Dual, stack: Stack, incumbents: Incumbents, depth: Integer
) -> Integer:
    """Try the next region at a depth; return the depth to continue at."""
    size = stack.chosen.size
    inside = size - stack.width.size + 1
    left, place = size - inside - depth, stack.place[depth]
    worth = (incumbents.costs[-1] - 1) << field.shift
    if not promising(stack, depth, left, place, worth):
        return depth - 1
    stack.place[depth] += 1
    row = stack.rows[depth, place]
    if not fits(rules, stack.chosen, inside + depth, row):
        return depth
    stack.chosen[inside + depth] = row
    if left > 1:
        incumbents.spent[0] += enter(field, dual, stack, depth, left - 1)
        return depth + 1
    incumbents.spent[0] += 1
    cost = joint_cost(field.values, field.weights, stack.least[depth], row)
    record_feasible(field, rules, incumbents, stack.chosen, cost)
    return depth


@compile_loop
def is_inside_feasible(rules: Rules, inside: Ints) -> bool:
    """Return whether the fixed regions of a box respect capacity and budget."""
    fine = True
    for a in range(inside.size):
        fine = fine and fits(rules, inside, a, inside[a])
    return fine


@compile_loop
def explore(
    field: Field,
    rules: Rules,
    dual: Dual,
    box: tuple[Ints, Ints],
    incumbents: Incumbents,
    budget: int,
) -> bool:
    """Search a box; return False if more rows than the budget were read."""
    inside, rows = box
    if not is_inside_feasible(rules, inside):
        return True
    stack = prepare(field, dual, inside, rows, incumbents.sets.shape[1] - (field.also >= 0))
    if inside.size == stack.chosen.size:
        record_feasible(
            field, rules, incumbents, stack.chosen, weigh(field.weights, stack.least[0])
        )
        return True
    depth: Integer = np.int64(0)
    stop = incumbents.spent[0] + budget
    while depth >= 0:
        depth = step(field, rules, dual, stack, incumbents, depth)
        if incumbents.spent[0] > stop:
            return False
    return True


@compile_loop
def exchange_by_loss(field: Field, chosen: Ints, rows: Ints) -> Ints:
    """Return the worst-loss cost of every exchange, (n_rows, n_chosen) int64."""
    table = np.empty((rows.size, chosen.size), np.int64)
    for a in range(rows.size):
        for place in range(chosen.size):
            tried = chosen.copy()
            tried[place] = rows[a]
            table[a, place] = loss_cost(field, tried, NO_ANSWER_COST)
    return table


def empty_incumbents(places: int, size: int, cutoff: int) -> Incumbents:
    """Return incumbents without sets."""
    costs = np.full(places, cutoff, np.int64)
    return Incumbents(costs, np.full((places, size), -1, np.int64), np.zeros(1, np.int64))


def as_ints(items: Any) -> Ints:
    """Convert to an int64 array."""
    return np.asarray(items, dtype=np.int64)
