"""Compiled loops over all subsets of a size, numbered by the combinatorial number system.

``table`` are binomial coefficients; the rank of ascending places p_0 < p_1 < ... is the sum of
``table[p_a, a + 1]``. So subsets that differ by their least place alone are neighbours in memory,
and the innermost loops run over that place. Costs are int32, below 2**30.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.failures.failure_kernels import BAD, STEPS, Marks, is_feasible
from analysis.optimization.solver.cost_kernels import BLOCK, Ints, Matrix
from analysis.optimization.solver.search_kernels import Field, Incumbents, Rules, loss_cost, record
from core.jit import compile_loop

Costs = NDArray[np.int32]


@compile_loop
def rank_without(table: Ints, places: Ints, start: int, one: int, other: int) -> Any:
    """Return the rank of places less those at ``one`` and ``other`` (-1 for none); the first that
    is left has position ``start``."""
    total, position = np.int64(0), start
    for a in range(places.size):
        if a not in (one, other):
            total += table[places[a], position + 1]
            position += 1
    return total


@compile_loop
def next_places(places: Ints) -> bool:
    """Move to the next places below the last one, which stays; the least is at least 1."""
    last = places.size - 1
    for a in range(last):
        if places[a] + 1 < places[a + 1]:
            places[a] += 1
            for b in range(a):
                places[b] = b + 1
            return True
    return False


@compile_loop
def first_places(count: int, last: int) -> Ints:
    """Return the first places, (count,) int64, that end with ``last``."""
    places = np.empty(count, np.int64)
    for a in range(count):
        places[a] = a + 1
    places[count - 1] = last
    return places


@compile_loop
def write_least(one: Costs, other: Costs, out: Costs) -> None:
    """Write the lower of two prices of each point of a block."""
    for i in range(other.size):
        out[i] = min(one[i], other[i])


@compile_loop
def weigh_subsets(prices: Costs, table: Ints, partial: Ints, costs: Costs) -> None:
    """Write the cost of these places with each pair of later ones, by its rank."""
    places, points = prices.shape
    size = partial.size
    first = 0 if size == 0 else partial[-1] + 1
    base = rank_without(table, partial, 0, -1, -1)
    sums = np.zeros((places, places), np.int32)
    low, both = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    for start in range(0, points, BLOCK):
        stop = min(start + BLOCK, points)
        low[:] = np.int32(2**31 - 1)
        for a in range(size):
            write_least(low, prices[partial[a], start:stop], low)
        for c in range(first, places):
            write_least(low, prices[c, start:stop], both)
            for x in range(c + 1, places):
                sums[c, x] += sum_least(both, prices[x, start:stop])
    for c in range(first, places):
        for x in range(c + 1, places):
            costs[base + table[c, size + 1] + table[x, size + 2]] = sums[c, x]


@compile_loop
def sum_least(one: Costs, other: Costs) -> Any:
    """Return the sum of the lower of two prices of each point of a block."""
    total = np.int32(0)
    for i in range(other.size):
        # Without the conversion the compiler would add 64 bits wide.
        total = np.int32(total + min(one[i], other[i]))
    return total


@compile_loop
def raise_by_pair(lows: Costs, one: Costs, other: Costs, both: Costs) -> None:
    """Raise bounds to one + other - both: what two regions save together is at most the sum of
    what each saves alone."""
    for a in range(lows.size):
        lows[a] = max(lows[a], np.int32(one[a] + other[a] - both[a]))


@compile_loop
def raise_by_shift(lows: Costs, one: Costs, shift: Any) -> None:
    """Raise bounds to one + shift."""
    for a in range(lows.size):
        lows[a] = max(lows[a], np.int32(one[a] + shift))


@compile_loop
def bound_supersets(
    table: Ints, costs: tuple[Costs, Costs], places: Ints, starts: Ints, lows: Costs
) -> None:
    """Write a lower bound of the cost of these places with each lesser place.

    ``costs`` are those of all subsets with one place less, and with two less.
    """
    less, lesser = costs
    count, size = places[0], places.size
    lows[:count] = 0
    whole = less[rank_without(table, places, 0, -1, -1)]
    for i in range(size):
        starts[i] = rank_without(table, places, 1, i, -1)
        own = less[starts[i] : starts[i] + count]
        shift = whole - lesser[rank_without(table, places, 0, i, -1)]
        raise_by_shift(lows[:count], own, shift)
        for j in range(i):
            start = rank_without(table, places, 1, i, j)
            other = less[starts[j] : starts[j] + count]
            raise_by_pair(lows[:count], own, other, lesser[start : start + count])


@compile_loop
def mark_bounds(
    marks: Marks, table: Ints, costs: tuple[Costs, Costs], shape: tuple[int, int], cutoff: int
) -> None:
    """Mark the subsets of ``shape`` (size, last place) that may be below the cut-off.

    A mark is the bound in units of cut-off / STEPS, rounded down.
    """
    size, last = shape
    lows, starts = np.empty(last + 1, np.int32), np.empty(size, np.int64)
    places = first_places(size - 1, last)
    factor = STEPS / np.float64(cutoff)
    more = True
    while more:
        bound_supersets(table, costs, places, starts, lows)
        base = rank_without(table, places, 1, -1, -1)
        for a in range(places[0]):
            if lows[a] < cutoff:
                marks[base + a] = np.uint16(np.float64(lows[a]) * factor)
        more = next_places(places)


@compile_loop
def raise_marks(highest: Marks, marks: Marks) -> None:
    """Raise to other marks."""
    for a in range(highest.size):
        highest[a] = max(highest[a], marks[a])


@compile_loop
def most_of(cost: int, cutoff: int) -> int:
    """Return the highest mark of a remainder that may cost less; marks are rounded down."""
    share = np.float64(cost) / np.float64(cutoff)
    return min(int(share * STEPS) + 1, BAD - 1)


@compile_loop
def evaluate_marked(
    field: Field,
    rules: Rules,
    tables: tuple[Marks, Ints, Ints],
    last: int,
    incumbents: Incumbents,
    cutoff: int,
) -> None:
    """Evaluate the sets with this last place if all their remainders have a low mark."""
    marks, table, order = tables
    size = incumbents.sets.shape[1]
    highest, chosen = np.empty(last + 1, np.uint16), np.empty(size, np.int64)
    places = first_places(size - 1, last)
    more = True
    while more:
        most = most_of(incumbents.costs[-1], cutoff)
        if marks[rank_without(table, places, 0, -1, -1)] <= most:
            count = places[0]
            highest[:count] = 0
            for i in range(size - 1):
                start = rank_without(table, places, 1, i, -1)
                raise_marks(highest[:count], marks[start : start + count])
            for b in range(size - 1):
                chosen[b + 1] = order[places[b]]
            for a in range(count):
                if highest[a] <= most:
                    chosen[0] = order[a]
                    if is_feasible(rules, chosen):
                        worst = incumbents.costs[-1]
                        record(incumbents, loss_cost(field, chosen, worst), chosen)
                        most = most_of(incumbents.costs[-1], cutoff)
        more = next_places(places)


def whole_prices(values: Matrix, weights: Ints, order: Ints, bits: int) -> tuple[Costs, int]:
    """Return prices (n_places, n_points) int32, costs times weights over 2**shift rounded down,
    and the shift by which any subset costs less than 2**bits."""
    highest = int((values[order].max(axis=0).astype(np.int64) * weights).sum())
    shift = max(0, highest.bit_length() - bits)
    prices = np.empty((order.size, weights.size), np.int32)
    for place, j in enumerate(order):
        prices[place] = (values[j] * weights) >> shift
    return prices, shift
