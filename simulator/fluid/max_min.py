"""Max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EPSILON = 1e-12


def share_links(shares: Floats, capacities: Floats) -> Floats:
    """The max-min fair rate of each flow, in the unit of ``capacities``.

    ``shares`` has shape (n_links, n_flows): the share of a flow's traffic that crosses a link; 1
    for a single path, 1/4 for each of four paths that carry equal parts. ``capacities`` has shape
    (n_links,). Raises ``ValueError`` for a flow that crosses no link, since its rate is unbounded.
    """
    if (shares.sum(axis=0) <= 0).any():
        raise ValueError("a flow crosses no link")
    rates = np.zeros(shares.shape[1])
    left = capacities.astype(float)
    active = np.ones(shares.shape[1], bool)
    while active.any():
        load = shares[:, active].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(load > _EPSILON, left / load, np.inf)
        step = room.min()
        rates[active] += step
        left = np.maximum(left - step * load, 0.0)
        full = room <= step * (1 + 1e-9) + _EPSILON
        active &= ~(shares[full] > 0).any(axis=0)
    return rates


@dataclass(frozen=True, slots=True)
class Transfers:
    """Times at which transfers began and ended, in seconds, shape (n,)."""

    started_s: Floats
    ended_s: Floats


def complete_transfers(
    queues: Sequence[Sequence[int]],
    shares: Floats,
    capacities: Floats,
    size: float,
    n_parallel: int,
) -> Transfers:
    """Simulate senders that work through queues of transfers, ``n_parallel`` of each at a time.

    ``queues`` lists transfers by sender: columns of ``shares``. ``size`` is in the unit of
    ``capacities`` times seconds. Rates are max-min fair between any two completions.
    """
    n = shares.shape[1]
    left, started, ended = np.full(n, size), np.full(n, np.nan), np.full(n, np.nan)
    waiting = [list(reversed(queue)) for queue in queues]
    sender = np.empty(n, np.int64)
    for i, queue in enumerate(queues):
        sender[list(queue)] = i
    active = [queue.pop() for _ in range(n_parallel) for queue in waiting if queue]
    started[active] = now = 0.0
    while active:
        rates = share_links(shares[:, active], capacities)
        step = (left[active] / rates).min()
        now += step
        left[active] -= step * rates
        done = [t for t in active if left[t] <= size * 1e-9]
        ended[done] = now
        next_ones = [waiting[sender[t]].pop() for t in done if waiting[sender[t]]]
        started[next_ones] = now
        active = [t for t in active if t not in done] + next_ones
    return Transfers(started, ended)
