"""Greedy start and interchange local search for the largest group mean."""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.groups.group_costs import GroupCosts
from analysis.optimization.groups.group_kernels import score_exchanges, score_set
from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Ints
from analysis.optimization.model.feasibility import find_allowed
from analysis.optimization.solver.search_kernels import as_ints

MAX_EXCHANGES = 100
# Share of the groups' average in the score, which distinguishes sets of equal largest means.
MILD_SHARE = 0.05
# Progress below this share ends the search.
PROGRESS = 1e-12


def first_set(costs: GroupCosts, limits: Limits, size: int) -> tuple[int, ...] | None:
    """Return a greedy set that the constraints allow, else any allowed one, else None."""
    chosen = list(limits.inside)
    weights = costs.weights / costs.totals[costs.owners]
    while len(chosen) < size:
        rows = [j for j in range(len(costs.values)) if j not in {*chosen, *limits.outside}]
        if not rows:
            break
        least = costs.values[chosen].min(axis=0) if chosen else costs.values.max(axis=0)
        cells = np.minimum(costs.values[rows], least) * weights
        means = np.add.reduceat(cells, costs.starts[:-1], axis=1)
        chosen.append(rows[int(np.argmin(means.max(axis=1) + MILD_SHARE * means.mean(axis=1)))])
    if len(chosen) == size and limits.allow(tuple(chosen)):
        return tuple(chosen)
    return find_allowed(limits, len(costs.values), size)


def exchange_groups(
    costs: GroupCosts, limits: Limits, first: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """Exchange regions while the score decreases; return the sets met, the first one too."""
    points = costs.compiled()
    chosen, met = as_ints(first), [first]
    score = score_set(points, costs.totals, chosen, MILD_SHARE)
    fixed = np.isin(chosen, limits.inside)
    for _ in range(MAX_EXCHANGES):
        held = {*chosen.tolist(), *limits.outside}
        rows = as_ints([j for j in range(len(costs.values)) if j not in held])
        table = score_exchanges(points, costs.totals, chosen, rows, MILD_SHARE)
        table[:, fixed] = np.inf
        step = _best_step(limits, chosen, rows, table, score)
        if step is None:
            break
        score, chosen = step
        met.append(tuple(chosen.tolist()))
    return met


def _best_step(
    limits: Limits, chosen: Ints, rows: Ints, table: NDArray[np.float64], score: float
) -> tuple[float, Ints] | None:
    """Return the best allowed exchange below the score, as its score and set."""
    for flat in np.argsort(table, axis=None, kind="stable"):
        a, place = divmod(int(flat), chosen.size)
        if not table[a, place] < score * (1 - PROGRESS):
            return None
        tried = chosen.copy()
        tried[place] = rows[a]
        if limits.allow(tuple(tried.tolist())):
            return float(table[a, place]), tried
    return None
