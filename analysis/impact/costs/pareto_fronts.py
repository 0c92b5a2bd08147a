"""The Pareto front of cost, value and value after the worst loss, over all sets of some sizes.

Every allowed set is evaluated, so that the front is exact; what is too large for that is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import serve
from analysis.impact.costs.set_kernels import Points, SetPrices, evaluate_sets, mark_front
from analysis.impact.prices import Prices, Traffic
from analysis.optimization import Constraints, Study
from analysis.optimization.model.constraints import limit
from analysis.optimization.solver.problem import rules_of
from core.errors import BadInput

# Evaluations of a region at a point: about a second each 500 million.
MAX_WORK = 10_000_000_000
MAX_SETS = 20_000_000
# Costs are compared in millionths of the currency, so that rounding makes no set better.
STEPS_PER_UNIT = 1_000_000


@dataclass(frozen=True, slots=True)
class FrontSet:
    """A set that no other one beats in cost, value and value after its worst loss at once.

    ``after_loss`` is None for a single region, of which a loss leaves nothing.
    """

    regions: tuple[str, ...]
    cost: float
    value: float
    after_loss: float | None


@dataclass(frozen=True)
class Front:
    """The front by ascending cost; ``evaluated`` sets were compared, and regions without a price
    are in none of them."""

    sets: tuple[FrontSet, ...]
    evaluated: int
    unpriced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Costing:
    """Prices, the traffic that they are for, and the most that a set may cost."""

    prices: Prices
    traffic: Traffic
    budget: float | None = None


def find_front(
    study: Study, sizes: Sequence[int], constraints: Constraints, costing: Costing
) -> Front:
    """Return the front over all allowed sets of these sizes; raise BadInput where it is too large.

    The value is the weighted mean; the cost is that of ``prices.bill``.
    """
    if study.objective.percentile is not None:
        raise BadInput("the front is of means; ask for it without a percentile", field="front")
    if constraints.after_loss_ms is not None:
        raise BadInput(
            "the front holds the value after a loss; ask for it without a limit in ms",
            field="after_loss_ms",
        )
    if study.costs.gaps and study.costs.penalty is None:
        raise BadInput("give missing answers a penalty for the front", field="missing")
    table, unpriced = _evaluate(study, sizes, constraints, costing)
    keep = np.full(table.costs.size, fill_value=True)
    if costing.budget is not None:
        keep = np.rint(table.costs * STEPS_PER_UNIT) <= round(costing.budget * STEPS_PER_UNIT)
    places = np.flatnonzero(keep)
    value, loss = table.totals[places].astype(float).T.copy()
    loss[loss < 0] = np.inf
    order = np.lexsort((loss, value, np.rint(table.costs[places] * STEPS_PER_UNIT)))
    marked = mark_front(order, value, loss)
    found = tuple(_describe(study, table, int(places[n])) for n in order if marked[n])
    return Front(found, int(places.size), unpriced)


@dataclass(frozen=True, eq=False)
class _Table:
    """All allowed sets: region numbers, sums of costs without and after a loss, and prices."""

    sets: list[tuple[int, ...]]
    totals: NDArray[np.int64]
    costs: NDArray[np.float64]


def _describe(study: Study, table: _Table, place: int) -> FrontSet:
    names, weight = study.samples.regions, study.costs.total_weight
    total, loss = (int(one) for one in table.totals[place])
    return FrontSet(
        tuple(names[j] for j in table.sets[place]),
        float(table.costs[place]),
        study.costs.mean_of(total, weight),
        None if loss < 0 else study.costs.mean_of(loss, weight),
    )


def _evaluate(
    study: Study, sizes: Sequence[int], constraints: Constraints, costing: Costing
) -> tuple[_Table, tuple[str, ...]]:
    """Return all allowed sets of priced regions, and the regions without a price."""
    samples = study.samples
    names = samples.regions
    prices = _tabulate(names, costing)
    limits = limit(names, constraints)
    priced = ~np.isnan(prices.running + prices.to_clients)
    unpriced = tuple(name for name, known in zip(names, priced, strict=True) if not known)
    allowed = [j for j in range(len(names)) if priced[j] and j not in limits.outside]
    if lost := [names[j] for j in limits.inside if not priced[j]]:
        raise BadInput(f"{lost[0]!r} has no price", field="include")
    if not allowed:
        raise BadInput("no region that the constraints allow has a price", field="prices")
    rows, rules = np.array(allowed, np.int64), rules_of(limits, len(names))
    _check_work(study, rows.size, sizes)
    points = Points(
        study.costs.filled().matrix,
        study.costs.weights,
        serve(study, names).means,
        samples.weights / samples.weights.sum(),
    )
    sets: list[tuple[int, ...]] = []
    figures = []
    for size in sizes:
        if size <= rows.size:
            count = comb(rows.size, size)
            found = np.empty((count, size), np.int16), np.empty((count, 2), np.int64)
            costs = np.empty(count)
            done = evaluate_sets(points, prices, rows, rules, (*found, costs))
            held = [set(limits.inside).issubset(row) for row in found[0][:done].tolist()]
            sets += [tuple(row) for row in found[0][:done][held].tolist()]
            figures.append((found[1][:done][held], costs[:done][held]))
    totals = np.concatenate([one[0] for one in figures] or [np.empty((0, 2), np.int64)])
    return _Table(
        sets, totals, np.concatenate([one[1] for one in figures] or [np.empty(0)])
    ), unpriced


def _check_work(study: Study, regions: int, sizes: Sequence[int]) -> None:
    points = study.costs.weights.size + len(study.samples.clients)
    count = sum(comb(regions, size) for size in sizes)
    work = sum(comb(regions, size) * size * points for size in sizes)
    if work > MAX_WORK or count > MAX_SETS:
        raise BadInput(
            f"the front of {regions} regions has {count:,} sets, too many to evaluate each; ask "
            "for smaller sets with k, or leave regions out by provider, country or continent",
            field="k",
        )


def _tabulate(names: Sequence[str], costing: Costing) -> SetPrices:
    """Return prices by region number, times the traffic that they are for."""
    prices, traffic = costing.prices, costing.traffic
    nothing = float("nan")

    def priced(price: float | None, amount: float) -> float:
        return 0.0 if not amount else (nothing if price is None else price * amount)

    return SetPrices(
        np.array([priced(prices.running.get(name), 1.0) for name in names]),
        np.array([priced(prices.internet.get(name), traffic.to_clients_gb) for name in names]),
        np.array(
            [[priced(prices.between.get((a, b)), traffic.between_gb) for b in names] for a in names]
        ),
    )
