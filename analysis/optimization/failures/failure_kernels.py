"""Compiled loops over remainders (sets less one region): each is evaluated once, by its rank.

A set survives a loss if each of its remainders is good. All remainders of a size are evaluated
first; sets of good remainders are then found by table look-up. ``table`` are the binomial
coefficients of the combinatorial number system; ``order`` (n_places,) int64 are region numbers.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.cost_kernels import BLOCK, Ints, Matrix, capped, gains, lower
from analysis.optimization.solver.search_kernels import (
    Field,
    Incumbents,
    Rules,
    fits,
    loss_cost,
    record,
    satisfies_groups,
)
from core.jit import compile_loop

Marks = NDArray[np.uint16]

# Mark of a bad remainder; a good one has its cost in units of cut-off / STEPS.
BAD = 65535
STEPS = 65534


class PartialSet(NamedTuple):
    """A partial set as places in the order; the first ``fixed`` places are in every set."""

    places: Ints
    fixed: int


class PartialBound(NamedTuple):
    """A lower bound of completions: ``sure`` less the savings ``saved`` of each added place."""

    sure: Any
    saved: Ints
    cut: Any


@compile_loop
def binomials(places: int, size: int) -> Ints:
    """Return binomial coefficients, (places + 1, size + 1) int64."""
    table = np.zeros((places + 1, size + 1), np.int64)
    for n in range(places + 1):
        table[n, 0] = 1
        for a in range(1, min(n, size) + 1):
            table[n, a] = table[n - 1, a - 1] + table[n - 1, a]
    return table


@compile_loop
def bound_partial_set(
    field: Field, levels: Ints, order: Ints, least: Ints, left: int, cut: int
) -> tuple[bool, PartialBound]:
    """Bound the completions of a partial set by ``left`` regions; return (is any good, bound)."""
    own = np.empty(levels.size, np.int64)
    sure = capped(field.weights, levels, least, field.shift, own)
    saved = gains(field.values, field.weights, own, order, field.shift)
    return bool(sure - most_saved(saved, left) <= cut), PartialBound(sure, saved, cut)


@compile_loop
def most_saved(saved: Ints, left: int) -> int:
    """Sum the largest ``left`` savings; a sort would take seconds to compile."""
    top = np.zeros(left, np.int64)
    for j in range(saved.size):
        value = saved[j]
        for a in range(left):
            if value > top[a]:
                top[a], value = value, top[a]
    total = 0
    for a in range(left):
        total += top[a]
    return total


@compile_loop
def list_pairs(partial: PartialSet, order: Ints, rules: Rules, bound: PartialBound) -> Ints:
    """Return the pairs of places, (n_pairs, 2) int64, that may complete a remainder."""
    size, first = partial.places.size, order.size - bound.saved.size
    fixed, wide = 0, bound.saved.size
    for a in range(size):
        fixed += partial.places[a] < partial.fixed
    most = np.zeros(order.size + 1, np.int64)
    for c in range(order.size - 1, first - 1, -1):
        most[c] = max(most[c + 1], bound.saved[c - first])
    pairs = np.empty((wide * (wide - 1) // 2, 2), np.int64)
    held = np.empty(size + 1, np.int64)
    held[:size] = order[partial.places]
    count = 0
    for c in range(first, order.size):
        sure = bound.sure - bound.saved[c - first]
        if sure - most[c + 1] > bound.cut or not fits(rules, held, size, order[c]):
            continue
        held[size] = order[c]
        for x in range(c + 1, order.size):
            # A remainder lacks one of the regions that every set has, at most.
            enough = fixed + (c < partial.fixed) + (x < partial.fixed) >= partial.fixed - 1
            near = sure - bound.saved[x - first] <= bound.cut
            if enough and near and fits(rules, held, size + 1, order[x]):
                pairs[count, 0], pairs[count, 1] = c, x
                count += 1
    return pairs[:count]


@compile_loop
def weigh_pairs(priced: Matrix, order: Ints, least: Matrix, pairs: Ints) -> Ints:
    """Return the cost of a partial set with each pair; ``priced`` are costs times weights."""
    sums = np.zeros(pairs.shape[0], np.int64)
    low = np.empty(BLOCK, priced.dtype)
    points = least.size
    for start in range(0, points, BLOCK):
        size = min(BLOCK, points - start)
        last = -1
        for a in range(pairs.shape[0]):
            if pairs[a, 0] != last:
                last = pairs[a, 0]
                row = priced[order[last], start : start + size]
                for i in range(size):
                    low[i] = min(least[start + i], row[i])
            row = priced[order[pairs[a, 1]], start : start + size]
            total = np.int64(0)
            for i in range(size):
                total += np.int64(min(low[i], row[i]))
            sums[a] += total
    return sums


@compile_loop
def mark_pairs(
    marks: Marks, table: Ints, places: Ints, found: tuple[Ints, Ints], cutoff: int
) -> None:
    """Mark good remainders with their cost in steps, rounded down; 0 without a cut-off."""
    pairs, sums = found
    size = places.size
    base = np.int64(0)
    for a in range(size):
        base += table[places[a], a + 1]
    for a in range(pairs.shape[0]):
        rank = base + table[pairs[a, 0], size + 1] + table[pairs[a, 1], size + 2]
        steps = np.int64(0)
        if cutoff > 0:
            steps = np.int64(np.float64(sums[a]) / np.float64(cutoff) * STEPS)
        marks[rank] = max(min(steps, np.int64(STEPS)), np.int64(0))


@compile_loop
def ranks_without(table: Ints, places: Ints) -> Ints:
    """Give, for each place left out, the rank of what remains; of all of them, last of all."""
    size = places.size
    bases = np.zeros(size + 1, np.int64)
    for lost in range(size + 1):
        for a in range(size):
            if a < lost:
                bases[lost] += table[places[a], a + 1]
            elif a > lost:
                bases[lost] += table[places[a], a]
    return bases


@compile_loop
def worst_mark(marks: Marks, bases: Ints, pair: int, most: int) -> int:
    """Return the worst mark of the remainders that contain a pair; stop above ``most``."""
    worst = 0
    for lost in range(bases.size - 1):
        worst = max(worst, int(marks[bases[lost] + pair]))
        if worst > most:
            break
    return worst


@compile_loop
def partners(marks: Marks, table: Ints, base: int, size: int, first: int, places: int) -> Ints:
    """Return the places that complete a good remainder."""
    found = np.empty(max(places - first, 0), np.int64)
    count = 0
    for y in range(first, places):
        if marks[base + table[y, size]] != BAD:
            found[count] = y
            count += 1
    return found[:count]


@compile_loop
def is_feasible(rules: Rules, chosen: Ints) -> bool:
    """Return whether a complete set satisfies budget, capacities and groups."""
    fine = satisfies_groups(rules, chosen)
    for a in range(chosen.size):
        fine = fine and fits(rules, chosen, a, chosen[a])
    return fine


@compile_loop
def evaluate_robust(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    places: Ints,
    incumbents: Incumbents,
    cutoff: int,
) -> None:
    """Evaluate the completions with good remainders by their worst loss."""
    marks, table, order = tables
    size = places.size
    bases = ranks_without(table, places)
    ys = partners(marks, table, bases[size], size + 1, places[-1] + 1, order.size)
    chosen = np.empty(size + 2, np.int64)
    chosen[:size] = order[places]
    for a in range(ys.size):
        own = int(marks[bases[size] + table[ys[a], size + 1]])
        for b in range(a + 1, ys.size):
            # Steps are rounded down, so that one more is allowed.
            share = np.float64(incumbents.costs[-1]) / np.float64(cutoff)
            most = min(int(share * STEPS) + 1, BAD - 1)
            other = int(marks[bases[size] + table[ys[b], size + 1]])
            pair = table[ys[a], size] + table[ys[b], size + 1]
            if max(own, other) <= most and worst_mark(marks, bases, pair, most) <= most:
                chosen[size], chosen[size + 1] = order[ys[a]], order[ys[b]]
                if is_feasible(rules, chosen):
                    record(incumbents, loss_cost(field, chosen, incumbents.costs[-1]), chosen)


@compile_loop
def evaluate_plain(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    places: Ints,
    incumbents: Incumbents,
    levels: Ints,
) -> None:
    """Evaluate the completions with good remainders by their cost without a loss."""
    marks, table, order = tables
    size, first = places.size, places[-1] + 1
    bases = ranks_without(table, places)
    ys = partners(marks, table, bases[size], size + 1, first, order.size)
    if ys.size < 2:
        return
    chosen = np.empty(size + 2, np.int64)
    chosen[:size] = order[places]
    least = np.full(levels.size, np.int64(BAD) << 31)
    for a in range(size):
        lower(field.values, chosen[a], least, least)
    worth = (incumbents.costs[-1] - 1) << field.shift
    promising_set, bound = bound_partial_set(field, levels, order[ys], least, 2, worth)
    if not promising_set:
        return
    for a in range(ys.size):
        for b in range(a + 1, ys.size):
            worth = (incumbents.costs[-1] - 1) << field.shift
            pair = table[ys[a], size] + table[ys[b], size + 1]
            near = bound.sure - bound.saved[a] - bound.saved[b] <= worth
            if near and worst_mark(marks, bases, pair, BAD - 1) < BAD:
                chosen[size], chosen[size + 1] = order[ys[a]], order[ys[b]]
                if is_feasible(rules, chosen):
                    record(incumbents, pair_cost(field, least, chosen[size:]), chosen)


@compile_loop
def pair_cost(field: Field, least: Ints, pair: Ints) -> np.int64:
    """Return the cost of a partial set with two more regions."""
    cost = np.int64(0)
    one, other = field.values[pair[0]], field.values[pair[1]]
    for i in range(least.size):
        low = min(np.int64(one[i]), np.int64(other[i]))
        cost += field.weights[i] * min(least[i], low)
    return cost


@compile_loop
def evaluate_completions(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    prefix: tuple[Ints, int, int],
    incumbents: Incumbents,
    aim: tuple[Ints, int],
) -> None:
    """Evaluate all sets that begin with these places and one more of a range.

    ``aim`` is (dual levels of the cost without a loss, cut-off of marks or 0 for that cost).
    """
    size = prefix[0].size
    partial = np.empty(size + 1, np.int64)
    partial[:size] = prefix[0]
    for c in range(prefix[1], prefix[2]):
        partial[size] = c
        if aim[1] > 0:
            evaluate_robust(field, rules, tables, partial, incumbents, aim[1])
        else:
            evaluate_plain(field, rules, tables, partial, incumbents, aim[0])


def whole_steps(values: Any, weights: Ints) -> Matrix:
    """Return costs times weights, int32 where they fit, else int64."""
    most = int(values.max(initial=0)) * int(weights.max(initial=0))
    kind = np.int32 if most < 2**31 else np.int64
    return np.ascontiguousarray(values.astype(kind) * weights.astype(kind))
