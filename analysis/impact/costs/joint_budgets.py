"""One budget for many deployments: how many regions, or how much money, each of them is given.

Convexity is not assumed: the second region of a deployment may gain more than the first did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput

# Pairs of a state and a choice that are compared: a second each ten million.
MAX_PAIRS = 200_000_000
MAX_STATES = 1_000_000

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """A set that a deployment may have; ``cost`` is a number of regions, or of cents."""

    cost: int
    value: float
    regions: tuple[str, ...]


@dataclass(frozen=True)
class Deployment:
    """What shares one set of regions: a domain or a group of them, with its weight and choices."""

    name: str
    weight: float
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Division:
    """A choice for each deployment; ``value`` is the weighted mean, ``spent`` the sum of costs."""

    choices: tuple[Choice, ...]
    value: float
    spent: int


def divide_budget(deployments: Sequence[Deployment], budget: int) -> Division | None:
    """Return the division of least weighted mean value within the budget; None if there is none.

    Exact for the choices given: states that another one of no greater cost and value dominates are
    dropped, no others. Raise BadInput where there are too many states.
    """
    reserve = sum(min(c.cost for c in one.choices) for one in deployments)
    costs, values = np.zeros(1, np.int64), np.zeros(1)
    steps: list[tuple[Ints, Ints]] = []
    pairs = 0
    for one in deployments:
        reserve -= min(c.cost for c in one.choices)
        pairs += costs.size * len(one.choices)
        if pairs > MAX_PAIRS or costs.size > MAX_STATES:
            raise BadInput(
                f"the budget has too many divisions among {len(deployments):,} deployments; put "
                "domains into fewer groups",
                field="joint_budget",
            )
        costs, values, step = _extend(costs, values, one, budget - reserve)
        if not costs.size:
            return None
        steps.append(step)
    best = int(np.argmin(values))
    spent, total = int(costs[best]), float(values[best])
    chosen: list[Choice] = []
    for one, (origins, picks) in zip(reversed(deployments), reversed(steps), strict=True):
        chosen.append(one.choices[int(picks[best])])
        best = int(origins[best])
    weight = sum(one.weight for one in deployments)
    return Division(tuple(reversed(chosen)), total / weight if weight else 0.0, spent)


def _extend(
    costs: Ints, values: Floats, one: Deployment, most: int
) -> tuple[Ints, Floats, tuple[Ints, Ints]]:
    """Return the states with one more deployment, none dominated, and where they come from."""
    added = np.array([c.cost for c in one.choices], np.int64)
    worth = np.array([c.value for c in one.choices]) * one.weight
    sums = (costs[:, None] + added).ravel()
    totals = (values[:, None] + worth).ravel()
    order = np.lexsort((totals, sums))
    order = order[sums[order] <= most]
    lowest = np.minimum.accumulate(totals[order]) if order.size else totals[order]
    keep = np.full(order.size, fill_value=True)
    keep[1:] = totals[order][1:] < lowest[:-1]
    order = order[keep]
    return sums[order], totals[order], (order // added.size, order % added.size)
