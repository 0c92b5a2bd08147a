"""Samples and chosen regions go in; which region serves which client, round by round, comes out.

Per round a client gets the best region that answered; its home is the region that is best for it
over all rounds, by the same costs as the choice itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.regions import Measure, Study
from analysis.regions.costs import NO_ANSWER
from core.errors import BadInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Serving:
    """Values by region, client and round, and who serves: region numbers, -1 where none does.

    ``best`` holds the value that each client-round gets, not-a-number where no region answered;
    ``costs`` are values that are least when best, infinite without an answer.
    """

    regions: tuple[str, ...]
    weights: Floats
    costs: Floats
    best: Floats
    by: Ints
    homes: Ints
    faster: bool

    @property
    def clients(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """Give the weight of all clients."""
        return float(self.weights.sum())

    def home_shares(self) -> Floats:
        """Give the share of weight at home in each region; what none answers is in no share."""
        at_home = self.homes >= 0
        counts = np.bincount(
            self.homes[at_home], self.weights[at_home], minlength=len(self.regions)
        )
        return np.asarray(counts / self.total, np.float64)


def serve(study: Study, regions: Sequence[str]) -> Serving:
    """Give who serves whom if these regions stand; raises BadInput on an unknown region."""
    samples = study.samples
    unknown = [name for name in regions if name not in samples.regions]
    if unknown or not regions:
        raise BadInput(f"no samples of the region {unknown[0]!r}" if unknown else "no region given")
    rows = [samples.regions.index(name) for name in regions]
    faster = study.objective.measure is Measure.LATENCY
    values = samples.values[rows].astype(np.float64)
    gaps = np.isnan(values)
    costs = np.where(gaps, np.inf, values if faster else -values)
    by = costs.argmin(axis=0)
    best = np.take_along_axis(values, by[None], axis=0)[0]
    by = np.where(gaps.all(axis=0), -1, by)
    homes = _homes(study, rows, gaps)
    return Serving(tuple(regions), samples.weights, costs, best, by, homes, faster)


def _homes(study: Study, rows: list[int], gaps: NDArray[np.bool_]) -> Ints:
    cells = study.costs.matrix[rows].reshape(gaps.shape)
    heard = cells != NO_ANSWER
    counts = heard.sum(axis=2)
    totals = np.where(heard, cells, 0).sum(axis=2, dtype=np.float64)
    silent = gaps.all(axis=2)
    means = np.where(silent | (counts == 0), np.inf, totals / np.maximum(counts, 1))
    return np.where(silent.all(axis=0), -1, means.argmin(axis=0))
