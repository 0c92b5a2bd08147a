"""Assign clients to the chosen regions, round by round.

Per round a client is assigned to the best region that answered; its home is its best region over
all rounds. Costs and weights of client-rounds are those of the optimization.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.optimization import Measure, Study
from analysis.optimization.uncertainty.regret import client_means
from core.errors import BadInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The assignment of client-rounds: ``costs`` (n_regions, n_clients, n_rounds) float64, ``by``
    (n_clients, n_rounds) and ``homes`` (n_clients,) int64 region numbers, -1 for none.

    ``best`` holds the value that each client-round gets, not-a-number where no region answered;
    ``costs`` are values that are least when best, infinite without an answer; ``means`` are those
    of each region and client over counted rounds, infinite if the region never answered the client.
    ``mass`` is the weight of each client-round, 0 where no region of the samples answered. ``lost``
    is what a counted round costs without an answer; ``priced`` is whether that is in the mean, or
    only in what a failure adds.
    """

    regions: tuple[str, ...]
    weights: Floats
    costs: Floats
    best: Floats
    by: Ints
    homes: Ints
    means: Floats
    mass: Floats
    lost: float
    priced: bool
    faster: bool

    @property
    def answered_mass(self) -> Floats:
        """The weight of the client-rounds that the mean without failures includes."""
        return self.mass if self.priced else self.mass * (self.by >= 0)

    @property
    def clients(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """Return the weight of all clients."""
        return float(self.weights.sum())

    def home_shares(self) -> Floats:
        """Return the share of weight at home in each region; what none answers is in no share."""
        at_home = self.homes >= 0
        counts = np.bincount(
            self.homes[at_home], self.weights[at_home], minlength=len(self.regions)
        )
        return np.asarray(counts / self.total, np.float64)


def serve(study: Study, regions: Sequence[str]) -> Assignment:
    """Return who serves whom if these regions stand; raise BadInput on an unknown region."""
    samples = study.samples
    unknown = [name for name in regions if name not in samples.regions]
    if unknown or not regions:
        raise BadInput(f"no samples of the region {unknown[0]!r}" if unknown else "no region given")
    rows = [samples.regions.index(name) for name in regions]
    faster = study.objective.measure is Measure.LATENCY
    sign, made = 1 if faster else -1, study.costs
    gaps = np.isnan(samples.values[rows])
    cells = made.matrix[rows].reshape(gaps.shape).astype(np.float64)
    values = (made.top - cells if made.top else cells) / made.scale
    costs = np.where(gaps, np.inf, sign * values)
    by = costs.argmin(axis=0)
    best = sign * np.take_along_axis(costs, by[None], axis=0)[0]
    is_silent = gaps.all(axis=0)
    means = _means(study, regions, gaps)
    return Assignment(
        tuple(regions),
        samples.weights,
        costs,
        np.where(is_silent, np.nan, best),
        np.where(is_silent, -1, by),
        np.where(np.isinf(means).all(axis=0), -1, means.argmin(axis=0)),
        means,
        made.weights.reshape(made.counted.shape) / made.total_weight,
        sign * made.value_of(made.lost),
        made.penalty is not None,
        faster,
    )


def _means(study: Study, regions: Sequence[str], gaps: NDArray[np.bool_]) -> Floats:
    """Return costs per region and client in the unit of the samples, least when best."""
    means, _ = client_means(study, tuple(regions))
    made = study.costs
    values = (means - made.top) / made.scale
    return np.where(np.isnan(values) | gaps.all(axis=2), np.inf, values)
