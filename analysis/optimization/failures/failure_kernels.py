"""Compiled loops over sets that lack one region: each is weighed once and marked by its rank.

A set survives a loss if every one of its remainders is good. So all remainders of a size are
marked first, and sets whose remainders are all good are found by looking the marks up.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.cost_kernels import BLOCK, Ints, Matrix, capped, gains, lower
from analysis.optimization.solver.search_kernels import (
    Field,
    Podium,
    Rules,
    fits,
    loss_cost,
    meets,
    record,
)
from core.jit import compile_loop

Marks = NDArray[np.uint16]

# A remainder that is not good enough; others carry their cost in so many steps of the cut-off.
BAD = 65535
STEPS = 65534


class Stem(NamedTuple):
    """The first regions of a set by place in the order; ``fixed`` places are in every set."""

    places: Ints
    fixed: int


class Hope(NamedTuple):
    """What sets of a stem cost at least: what is sure, less what each place may save of it."""

    sure: Any
    saved: Ints
    cut: Any


@compile_loop
def binomials(places: int, size: int) -> Ints:
    """Give the table by which ascending places become the rank of their set."""
    table = np.zeros((places + 1, size + 1), np.int64)
    for n in range(places + 1):
        table[n, 0] = 1
        for a in range(1, min(n, size) + 1):
            table[n, a] = table[n - 1, a - 1] + table[n - 1, a]
    return table


@compile_loop
def hope_of(
    field: Field, levels: Ints, order: Ints, least: Ints, left: int, cut: int
) -> tuple[bool, Hope]:
    """Bound sets of a stem, and say whether any with so many more of the regions is good."""
    own = np.empty(levels.size, np.int64)
    sure = capped(field.weights, levels, least, field.shift, own)
    saved = gains(field.values, field.weights, own, order, field.shift)
    return bool(sure - most_saved(saved, left) <= cut), Hope(sure, saved, cut)


@compile_loop
def most_saved(saved: Ints, left: int) -> int:
    """Sum the most that so many regions may save; sorting would compile for seconds."""
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
def list_pairs(stem: Stem, order: Ints, rules: Rules, hope: Hope) -> Ints:
    """Give the pairs of places that may complete a remainder, as bound and ceilings allow."""
    size, first = stem.places.size, order.size - hope.saved.size
    fixed, wide = 0, hope.saved.size
    for a in range(size):
        fixed += stem.places[a] < stem.fixed
    most = np.zeros(order.size + 1, np.int64)
    for c in range(order.size - 1, first - 1, -1):
        most[c] = max(most[c + 1], hope.saved[c - first])
    pairs = np.empty((wide * (wide - 1) // 2, 2), np.int64)
    held = np.empty(size + 1, np.int64)
    held[:size] = order[stem.places]
    count = 0
    for c in range(first, order.size):
        sure = hope.sure - hope.saved[c - first]
        if sure - most[c + 1] > hope.cut or not fits(rules, held, size, order[c]):
            continue
        held[size] = order[c]
        for x in range(c + 1, order.size):
            # A remainder lacks one of the regions that every set has, at most.
            enough = fixed + (c < stem.fixed) + (x < stem.fixed) >= stem.fixed - 1
            near = sure - hope.saved[x - first] <= hope.cut
            if enough and near and fits(rules, held, size + 1, order[x]):
                pairs[count, 0], pairs[count, 1] = c, x
                count += 1
    return pairs[:count]


@compile_loop
def weigh_pairs(priced: Matrix, order: Ints, least: Matrix, pairs: Ints) -> Ints:
    """Weigh a stem with each pair; costs are times weight already."""
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
    """Mark good remainders with their cost in steps, rounded down; a cut-off of 0 counts none."""
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
    """Give the worst mark among a stem's remainders that keep a pair; stop above the most."""
    worst = 0
    for lost in range(bases.size - 1):
        worst = max(worst, int(marks[bases[lost] + pair]))
        if worst > most:
            break
    return worst


@compile_loop
def partners(marks: Marks, table: Ints, base: int, size: int, first: int, places: int) -> Ints:
    """Give the places that make a good remainder of a stem with one region less than that."""
    found = np.empty(max(places - first, 0), np.int64)
    count = 0
    for y in range(first, places):
        if marks[base + table[y, size]] != BAD:
            found[count] = y
            count += 1
    return found[:count]


@compile_loop
def agreed(rules: Rules, chosen: Ints) -> bool:
    """Say whether a whole set keeps to ceilings and groups."""
    fine = meets(rules, chosen)
    for a in range(chosen.size):
        fine = fine and fits(rules, chosen, a, chosen[a])
    return fine


@compile_loop
def unite_robust(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    places: Ints,
    podium: Podium,
    cutoff: int,
) -> None:
    """Weigh the sets of a stem whose remainders are all good by their worst loss."""
    marks, table, order = tables
    size = places.size
    bases = ranks_without(table, places)
    ys = partners(marks, table, bases[size], size + 1, places[-1] + 1, order.size)
    chosen = np.empty(size + 2, np.int64)
    chosen[:size] = order[places]
    for a in range(ys.size):
        own = int(marks[bases[size] + table[ys[a], size + 1]])
        for b in range(a + 1, ys.size):
            # Steps are rounded, so that one is given away.
            share = np.float64(podium.costs[-1]) / np.float64(cutoff)
            most = min(int(share * STEPS) + 1, BAD - 1)
            other = int(marks[bases[size] + table[ys[b], size + 1]])
            pair = table[ys[a], size] + table[ys[b], size + 1]
            if max(own, other) <= most and worst_mark(marks, bases, pair, most) <= most:
                chosen[size], chosen[size + 1] = order[ys[a]], order[ys[b]]
                if agreed(rules, chosen):
                    record(podium, loss_cost(field, chosen, podium.costs[-1]), chosen)


@compile_loop
def unite_plain(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    places: Ints,
    podium: Podium,
    levels: Ints,
) -> None:
    """Weigh the sets of a stem whose remainders are all good with nothing lost."""
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
    worth = (podium.costs[-1] - 1) << field.shift
    hopeful, hope = hope_of(field, levels, order[ys], least, 2, worth)
    if not hopeful:
        return
    for a in range(ys.size):
        for b in range(a + 1, ys.size):
            worth = (podium.costs[-1] - 1) << field.shift
            pair = table[ys[a], size] + table[ys[b], size + 1]
            near = hope.sure - hope.saved[a] - hope.saved[b] <= worth
            if near and worst_mark(marks, bases, pair, BAD - 1) < BAD:
                chosen[size], chosen[size + 1] = order[ys[a]], order[ys[b]]
                if agreed(rules, chosen):
                    record(podium, pair_cost(field, least, chosen[size:]), chosen)


@compile_loop
def pair_cost(field: Field, least: Ints, pair: Ints) -> np.int64:
    """Weigh what is chosen with two more regions."""
    cost = np.int64(0)
    one, other = field.values[pair[0]], field.values[pair[1]]
    for i in range(least.size):
        low = min(np.int64(one[i]), np.int64(other[i]))
        cost += field.weights[i] * min(least[i], low)
    return cost


@compile_loop
def unite(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    head: tuple[Ints, int, int],
    podium: Podium,
    aim: tuple[Ints, int],
) -> None:
    """Weigh all sets that begin with these places and one more of a span.

    ``aim`` holds levels for the plain cost, and the cut-off of marks, or 0 for the plain cost.
    """
    size = head[0].size
    stem = np.empty(size + 1, np.int64)
    stem[:size] = head[0]
    for c in range(head[1], head[2]):
        stem[size] = c
        if aim[1] > 0:
            unite_robust(field, rules, tables, stem, podium, aim[1])
        else:
            unite_plain(field, rules, tables, stem, podium, aim[0])


def whole_steps(values: Any, weights: Ints) -> Matrix:
    """Give costs times weights, in half the memory where they fit."""
    most = int(values.max(initial=0)) * int(weights.max(initial=0))
    kind = np.int32 if most < 2**31 else np.int64
    return np.ascontiguousarray(values.astype(kind) * weights.astype(kind))
