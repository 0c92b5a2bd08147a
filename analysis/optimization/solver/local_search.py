"""A problem goes in; good sets go onto its podium, by greedy choice and exchange.

The exchange evaluates all pairs in one pass, as Whitaker (1983) and Resende and Werneck (2007) do.
"""

import numpy as np

from analysis.optimization.solver.cost_kernels import Ints, gains, lower, swap_table
from analysis.optimization.solver.feasibility import find_allowed
from analysis.optimization.solver.problem import Problem
from analysis.optimization.solver.search_kernels import as_ints, exchange_by_loss

# Exchanges are cheap and end by themselves; this only stops a walk along equal costs.
MOST_EXCHANGES = 500
# Exchanges by the worst loss weigh every pair afresh, so that long walks cost much.
MOST_LOSS_EXCHANGES = 40


def start(problem: Problem) -> bool:
    """Put a greedy set, improved by exchange, on the podium; False if no set is allowed."""
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
    """Give the best sets that differ from one by a single exchange."""
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
    """Choose one region after the other, each time the one that saves most and still fits."""
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
    """Exchange one region for another as long as that helps; record every step."""
    chosen = list(chosen)
    for _ in range(MOST_EXCHANGES):
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
    """Give the change of cost per region outside and place inside, 0 where the place is fixed."""
    field = problem.field
    table = swap_table(field.values, field.weights, problem.nearest(chosen), rows, len(chosen))
    table[:, [a for a, j in enumerate(chosen) if j in problem.limits.inside]] = 0
    return table


def _best_step(
    problem: Problem, chosen: list[int], rows: Ints, table: Ints
) -> tuple[int, int] | None:
    """Give the best exchange that keeps to the limits: which place, which region."""
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
    return j not in chosen and alike < limits.room[limits.provider[j]] and price <= limits.purse


def exchange_losses(problem: Problem) -> None:
    """Exchange one region for another as long as the worst single loss costs less."""
    chosen = as_ints(problem.best)
    for _ in range(MOST_LOSS_EXCHANGES):
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
    """Give the best exchange by the worst loss that keeps to the limits, if any is better."""
    cost = problem.cost(chosen)
    for flat in np.argsort(table, axis=None, kind="stable"):
        a, place = divmod(int(flat), chosen.size)
        if table[a, place] >= cost:
            return None
        tried = [*chosen[:place], int(rows[a]), *chosen[place + 1 :]]
        if problem.limits.allow(tuple(int(j) for j in tried)):
            return as_ints(tried)
    return None
