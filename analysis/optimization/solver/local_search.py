"""Greedy construction and interchange local search for initial incumbents.

The interchange evaluates all pairs in one pass (Whitaker 1983; Resende and Werneck 2007).
"""

import numpy as np

from analysis.optimization.model.feasibility import find_allowed
from analysis.optimization.solver.cost_kernels import Ints, gains, lower, swap_table
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import as_ints, exchange_by_loss

# Exchanges end by themselves; this only stops cycles of equal costs.
MAX_EXCHANGES = 500
# Exchanges by the worst loss evaluate every pair again and are expensive.
MAX_LOSS_EXCHANGES = 40


def start(problem: Problem) -> bool:
    """Record a greedy set, improved by interchange; return False if no set is feasible."""
    chosen = greedy(problem)
    if not problem.limits.allow(tuple(chosen)) or len(chosen) != problem.size:
        allowed = find_allowed(problem.limits, problem.field.values.shape[0], problem.size)
        if allowed is None:
            return False
        chosen = list(allowed)
    problem.offer(chosen)
    problem.guide = tuple(exchange(problem, chosen))
    return True


def neighbours(problem: Problem, chosen: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Return the best ``count`` sets that differ by a single exchange."""
    rows = as_ints([j for j in problem.free if j not in chosen])
    if not rows.size:
        return []
    table = _changes(problem, list(chosen), rows)
    found: list[tuple[int, ...]] = []
    for flat in np.argsort(table, axis=None, kind="stable"):
        a, place = divmod(int(flat), len(chosen))
        tried = (*chosen[:place], int(rows[a]), *chosen[place + 1 :])
        if problem.limits.allow(tried):
            found.append(tried)
            if len(found) == count:
                break
    return found


def greedy(problem: Problem) -> list[int]:
    """Add regions one at a time, each time the feasible one with the largest savings."""
    chosen = list(problem.limits.inside)
    least = np.full(problem.points, problem.worst, np.int64)
    for j in chosen:
        lower(problem.field.values, j, least, least)
    while len(chosen) < problem.size:
        rows = as_ints([j for j in problem.free if _fits(problem, chosen, int(j))])
        if not rows.size:
            break
        saved = gains(problem.field.values, problem.field.weights, least, rows, 0)
        best = int(rows[np.argmax(saved)])
        chosen.append(best)
        lower(problem.field.values, best, least, least)
    return chosen


def exchange(problem: Problem, chosen: list[int]) -> list[int]:
    """Exchange regions while the cost decreases; record every step."""
    chosen = list(chosen)
    for _ in range(MAX_EXCHANGES):
        rows = as_ints([j for j in problem.free if j not in chosen])
        if not rows.size:
            break
        table = _changes(problem, chosen, rows)
        step = _best_step(problem, chosen, rows, table)
        if step is None:
            break
        chosen[step[0]] = step[1]
        problem.offer(chosen)
    return chosen


def _changes(problem: Problem, chosen: list[int], rows: Ints) -> Ints:
    """Return the change of cost of each exchange, (n_rows, n_chosen); 0 for fixed regions."""
    field = problem.field
    table = swap_table(field.values, field.weights, problem.nearest(chosen), rows, len(chosen))
    table[:, [a for a, j in enumerate(chosen) if j in problem.limits.inside]] = 0
    return table


def _best_step(
    problem: Problem, chosen: list[int], rows: Ints, table: Ints
) -> tuple[int, int] | None:
    """Return the best feasible exchange as (index of the chosen region, new region)."""
    improving = np.flatnonzero(table.ravel() < 0)
    for flat in improving[np.argsort(table.ravel()[improving], kind="stable")]:
        a, place = divmod(int(flat), len(chosen))
        tried = [*chosen[:place], int(rows[a]), *chosen[place + 1 :]]
        if problem.limits.allow(tuple(tried)):
            return place, int(rows[a])
    return None


def _fits(problem: Problem, chosen: list[int], j: int) -> bool:
    limits = problem.limits
    alike = sum(limits.provider[i] == limits.provider[j] for i in chosen)
    price = limits.price[j] + sum(limits.price[i] for i in chosen)
    return (
        j not in chosen and alike < limits.capacity[limits.provider[j]] and price <= limits.budget
    )


def exchange_losses(problem: Problem) -> None:
    """Exchange regions while the cost of the worst single loss decreases."""
    chosen = as_ints(problem.best)
    for _ in range(MAX_LOSS_EXCHANGES):
        rows = as_ints([j for j in problem.free if j not in chosen])
        if not rows.size:
            return
        table = exchange_by_loss(problem.field, chosen, rows)
        table[:, np.isin(chosen, problem.limits.inside)] = np.iinfo(np.int64).max
        better = _best_loss(problem, chosen, rows, table)
        if better is None:
            return
        chosen = better
        problem.offer(chosen)
    problem.guide = tuple(int(j) for j in chosen)


def _best_loss(problem: Problem, chosen: Ints, rows: Ints, table: Ints) -> Ints | None:
    """Return the best feasible exchange by the worst loss, or None if none improves."""
    cost = problem.cost(chosen)
    for flat in np.argsort(table, axis=None, kind="stable"):
        a, place = divmod(int(flat), chosen.size)
        if table[a, place] >= cost:
            return None
        tried = [*chosen[:place], int(rows[a]), *chosen[place + 1 :]]
        if problem.limits.allow(tuple(int(j) for j in tried)):
            return as_ints(tried)
    return None
