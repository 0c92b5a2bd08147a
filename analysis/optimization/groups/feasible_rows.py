"""Which free regions of a box can be part of a set that the constraints allow."""

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Ints


def find_feasible_rows(
    limits: Limits, inside: tuple[int, ...], rows: Ints, size: int
) -> Ints | None:
    """Return the free regions that a set of this size may add; None if no set is feasible."""
    left = size - len(inside)
    kinds = [limits.provider[j] for j in inside]
    if any(kinds.count(kind) > limits.capacity[kind] for kind in kinds):
        return None
    money = limits.budget - sum(limits.price[j] for j in inside)
    kept = [
        int(j)
        for j in rows
        if kinds.count(limits.provider[j]) < limits.capacity[limits.provider[j]]
        and limits.price[j] <= money
    ]
    cheapest = sorted(limits.price[j] for j in kept)[:left]
    if left < 0 or len(cheapest) < left or sum(cheapest) > money:
        return None
    for group, need in zip(limits.groups, limits.needs, strict=True):
        lacking = need - len(set(inside).intersection(group))
        if lacking > left or lacking > len(set(kept).intersection(group)):
            return None
    return np.array(kept, np.int64)
