"""Shares of one core among VMs that always compute, by weight and cap (Xen's credit scheduler).

The same accounting as in ``credit_scheduler``, without wakes: credits are assigned by weight, a
capped VM that owes more than its cap is parked until it owes nothing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.hypervisor.credit_scheduler import MOST_CREDITS

ACCOUNTING_MS = 30


def share_cpu(
    weights: Sequence[float], caps: Sequence[float | None], n_accountings: int
) -> NDArray[np.float64]:
    """CPU time by wall time of each VM, shape (n,), after so many accountings of 30 ms.

    Caps are shares of a core, ``None`` without one. Slices last as long as an accounting.
    """
    limits = np.array([np.inf if cap is None else MOST_CREDITS * cap for cap in caps])
    earned = _assign_credits(np.asarray(weights, float), limits)
    credits, used = np.zeros(len(weights)), np.zeros(len(weights))
    parked = np.zeros(len(weights), bool)
    order = list(range(len(weights)))
    for _ in range(n_accountings):
        ready = [vm for vm in order if not parked[vm]]
        if ready:
            # UNDER before OVER, in turn among equals.
            vm = min(ready, key=lambda one: credits[one] < 0)
            order.remove(vm)
            order.append(vm)
            used[vm] += 1
            credits[vm] -= MOST_CREDITS
        credits += earned
        parked = np.where(parked, credits < 0, credits < -limits)
        credits = np.clip(credits, -MOST_CREDITS * len(weights), MOST_CREDITS)
    return used / n_accountings


def _assign_credits(
    weights: NDArray[np.float64], limits: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Credits of an accounting by weight; what a cap refuses goes to the others."""
    earned, open_ = np.zeros(len(weights)), np.ones(len(weights), bool)
    while open_.any():
        left = MOST_CREDITS - earned[~open_].sum()
        earned[open_] = left * weights[open_] / weights[open_].sum()
        full = open_ & (earned > limits)
        if not full.any():
            break
        earned[full] = limits[full]
        open_ &= ~full
    return earned
