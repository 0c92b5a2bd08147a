"""Compiled loops over all sets of a size: value, worst loss and monthly cost of each."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.search_kernels import Rules, fits, satisfies_groups
from core.jit import compile_loop

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SetPrices(NamedTuple):
    """Prices per region, not-a-number where unknown: a month of running, the traffic to all clients
    if they are all served there, and the traffic to each other region, (n_regions, n_regions)."""

    running: Floats
    to_clients: Floats
    between: Floats


class Points(NamedTuple):
    """Costs (n_regions, n_points), weights (n_points,), the means (n_regions, n_clients) by which
    clients have a home, and the clients' shares of all weight."""

    values: NDArray[Any]
    weights: Ints
    means: Floats
    shares: Floats


@compile_loop
def evaluate_sets(
    points: Points, prices: SetPrices, rows: Ints, rules: Rules, found: tuple[Any, Ints, Floats]
) -> int:
    """Write all allowed sets of ``rows``, and their figures; return how many there are.

    ``found`` are the sets (n, size) int16, their sum of costs and that after the worst loss (n, 2),
    -1 for a single region, and the price of a month. Sets with an unknown price are left out.
    """
    sets, totals, costs = found
    size = sets.shape[1]
    places = np.arange(size)
    count = 0
    while True:
        chosen = rows[places]
        if is_allowed(rules, chosen):
            cost = cost_of_set(points, prices, chosen)
            if not np.isnan(cost):
                sets[count] = chosen
                totals[count, 0], totals[count, 1] = sum_costs(points, chosen)
                costs[count] = cost
                count += 1
        if not advance_places(places, rows.size):
            return count


@compile_loop
def is_allowed(rules: Rules, chosen: Ints) -> bool:
    """Return whether a set keeps to capacities, the price ceiling and the groups."""
    for a in range(chosen.size):
        if not fits(rules, chosen, a, chosen[a]):
            return False
    return bool(satisfies_groups(rules, chosen))


@compile_loop
def advance_places(places: Ints, end: int) -> bool:
    """Turn places into the next combination below ``end``; return False after the last."""
    size = places.size
    a = size - 1
    while a >= 0 and places[a] == end - size + a:
        a -= 1
    if a < 0:
        return False
    places[a] += 1
    for b in range(a + 1, size):
        places[b] = places[b - 1] + 1
    return True


@compile_loop
def cost_of_set(points: Points, prices: SetPrices, chosen: Ints) -> float:
    """Return the price of a month, each client being served from its home."""
    at_home = np.zeros(chosen.size, np.float64)
    for i in range(points.shares.size):
        nearest, best = -1, np.inf
        for a in range(chosen.size):
            mean = points.means[chosen[a], i]
            if mean < best:
                nearest, best = a, mean
        if nearest >= 0:
            at_home[nearest] += points.shares[i]
    cost = 0.0
    for a in range(chosen.size):
        cost += prices.running[chosen[a]] + at_home[a] * prices.to_clients[chosen[a]]
        for b in range(chosen.size):
            if a != b:
                cost += prices.between[chosen[a], chosen[b]]
    return cost


@compile_loop
def sum_costs(points: Points, chosen: Ints) -> tuple[Any, Any]:
    """Return the weighted sum of a set's costs, and that after its worst loss, -1 for one."""
    lost = np.zeros(chosen.size, np.int64)
    total = np.int64(0)
    for i in range(points.weights.size):
        first, second, who = np.int64(points.values[chosen[0], i]), np.int64(2**31), 0
        for a in range(1, chosen.size):
            value = np.int64(points.values[chosen[a], i])
            if value < first:
                first, second, who = value, first, a
            elif value < second:
                second = value
        total += points.weights[i] * first
        lost[who] += points.weights[i] * (second - first)
    return total, total + lost.max() if chosen.size > 1 else np.int64(-1)


@compile_loop
def mark_front(order: Ints, values: Floats, losses: Floats) -> NDArray[np.bool_]:
    """Mark the sets that no other one dominates; ``order`` is by cost, then value, then loss.

    Among equal figures the first is marked. The staircase holds the front of value and loss so far,
    by ascending value and so by descending loss.
    """
    marked = np.zeros(order.size, np.bool_)
    stair_values, stair_losses = np.empty(order.size), np.empty(order.size)
    height = 0
    for n in range(order.size):
        value, loss = values[order[n]], losses[order[n]]
        low = np.searchsorted(stair_values[:height], value, side="right")
        if low > 0 and stair_losses[low - 1] <= loss:
            continue
        marked[order[n]] = True
        begin = np.searchsorted(stair_values[:height], value, side="left")
        end = begin
        while end < height and stair_losses[end] >= loss:
            end += 1
        shift = begin + 1 - end
        if shift > 0:
            for a in range(height - 1, end - 1, -1):
                stair_values[a + 1], stair_losses[a + 1] = stair_values[a], stair_losses[a]
        elif shift < 0:
            for a in range(end, height):
                stair_values[a + shift] = stair_values[a]
                stair_losses[a + shift] = stair_losses[a]
        height += shift
        stair_values[begin], stair_losses[begin] = value, loss
    return marked
