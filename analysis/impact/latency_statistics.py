"""Mean and percentiles of an assignment, over all clients and per group.

Client-rounds that no region of the samples answered are left out. A percentile is the value that so
many of a hundred weighted client-rounds get or better; what no region of the set answered counts as
worse than all values, so that it is never better to be silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.impact.assignment import Assignment, Floats

PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Spread:
    """Latency statistics of a group; a percentile is None among unanswered client-rounds.

    ``mean`` is the value of the choice: a counted client-round without an answer costs the penalty,
    if the objective has one. ``share`` is the group's share of all weight, ``unanswered`` the share
    of its counted client-rounds.
    """

    clients: int
    share: float
    mean: float | None
    percentiles: Mapping[int, float | None]
    unanswered: float


def spread(serving: Assignment, members: Sequence[int] | None = None) -> Spread:
    """Return how these clients are served per round, all of them by default."""
    chosen = slice(None) if members is None else np.asarray(members, dtype=np.intp)
    lost = serving.lost * (1 if serving.faster else -1) if serving.priced else None
    weights = serving.weights[chosen]
    share = float(weights.sum()) / serving.total if serving.total else 0.0
    return _spread_of(serving.best[chosen], serving.mass[chosen], share, lost, serving.faster)


def _spread_of(
    values: Floats, mass_of: Floats, share: float, lost: float | None, faster: bool
) -> Spread:
    """Return the spread of values by client and round; ``lost`` is the value where none came."""
    each, flat = mass_of.ravel(), values.ravel()
    silent = np.isnan(flat)
    mass, answered_mass = float(each.sum()), float(each[~silent].sum())
    if not mass:
        return Spread(len(values), share, None, dict.fromkeys(PERCENTILES), 0.0)
    mean = float((flat[~silent] * each[~silent]).sum()) / answered_mass if answered_mass else None
    if mean is not None and lost is not None:
        mean = (mean * answered_mass + lost * (mass - answered_mass)) / mass
    order = np.argsort(np.where(silent, np.inf, flat if faster else -flat), kind="stable")
    reached = np.cumsum(each[order])
    places = [int(np.searchsorted(reached, p / 100 * mass * (1 - 1e-12))) for p in PERCENTILES]
    at = [flat[order[min(place, len(order) - 1)]] for place in places]
    ends = {p: None if np.isnan(v) else float(v) for p, v in zip(PERCENTILES, at, strict=True)}
    return Spread(len(values), share, mean, ends, max(1 - answered_mass / mass, 0.0))


def by_group(serving: Assignment, groups: Sequence[str]) -> dict[str, Spread]:
    """Return a spread per group of clients, heaviest group first; ``groups`` has one per client."""
    members: dict[str, list[int]] = {}
    for client, group in enumerate(groups):
        members.setdefault(group, []).append(client)
    found = {group: spread(serving, places) for group, places in members.items()}
    return dict(sorted(found.items(), key=lambda item: (-item[1].share, item[0])))


def spread_elsewhere(serving: Assignment, other: Floats, faster: bool) -> Spread:
    """Return the spread of another measure in each client's home region.

    ``other`` is by region of the set, client and round, of separate rounds. The mean is over
    answers: where a client has no sample of the other measure, nothing is known, and nothing costs.
    """
    homes = np.maximum(serving.homes, 0)
    values = np.where(
        (serving.homes >= 0)[:, None], other[homes, np.arange(serving.clients)], np.nan
    )
    mass = np.broadcast_to(serving.weights[:, None], values.shape)
    return _spread_of(values, mass, 1.0, None, faster)
