"""Who is served how goes in; mean and percentiles, as a whole and per group, come out.

A percentile is the value that so many of a hundred weighted client-rounds get or better; what no
region answered counts as worse than all values, so that it is never better to be silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.consequences.serving import Floats, Serving

PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a group is served; ``mean`` is over answers, a percentile is None among the unanswered.

    ``share`` is the group's share of all weight, ``unanswered`` the share of its own client-rounds.
    """

    clients: int
    share: float
    mean: float | None
    percentiles: Mapping[int, float | None]
    unanswered: float


def spread(serving: Serving, members: Sequence[int] | None = None) -> Spread:
    """Give how these clients are served per round, all of them by default."""
    chosen = slice(None) if members is None else np.asarray(members, dtype=np.intp)
    values, weights = serving.best[chosen], serving.weights[chosen]
    return spread_of(values, weights, serving.total, faster=serving.faster)


def spread_of(values: Floats, weights: Floats, total: float, *, faster: bool) -> Spread:
    """Give the spread of values by client and round, a weight per client."""
    each = np.repeat(weights, values.shape[1])
    flat = values.ravel()
    silent = np.isnan(flat)
    mass, heard = float(each.sum()), float(each[~silent].sum())
    share = float(weights.sum()) / total if total else 0.0
    if not mass:
        return Spread(len(weights), 0.0, None, dict.fromkeys(PERCENTILES), 0.0)
    mean = float((flat[~silent] * each[~silent]).sum()) / heard if heard else None
    order = np.argsort(np.where(silent, np.inf, flat if faster else -flat), kind="stable")
    reached = np.cumsum(each[order])
    places = [int(np.searchsorted(reached, p / 100 * mass * (1 - 1e-12))) for p in PERCENTILES]
    at = [flat[order[min(place, len(order) - 1)]] for place in places]
    ends = {p: None if np.isnan(v) else float(v) for p, v in zip(PERCENTILES, at, strict=True)}
    return Spread(len(weights), share, mean, ends, 1 - heard / mass)


def by_group(serving: Serving, groups: Sequence[str]) -> dict[str, Spread]:
    """Give a spread per group of clients, heaviest group first; ``groups`` has one per client."""
    members: dict[str, list[int]] = {}
    for client, group in enumerate(groups):
        members.setdefault(group, []).append(client)
    found = {group: spread(serving, places) for group, places in members.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1].share, item[0])))


def spread_elsewhere(serving: Serving, other: Floats, faster: bool) -> Spread:
    """Give the spread of another measure in each client's home region.

    ``other`` is by region of the set, client and round, of rounds of its own.
    """
    homes = np.maximum(serving.homes, 0)
    values = np.where(
        (serving.homes >= 0)[:, None], other[homes, np.arange(serving.clients)], np.nan
    )
    return spread_of(values, serving.weights, serving.total, faster=faster)
