"""The objective's value of each single region, accumulated over parts of the clients.

Equal to ``Study.value_of`` of a one-region set with equal client weights, for more clients than fit
into memory.
"""

from typing import Any

import numpy as np

from analysis.optimization.model.samples import Samples

# Decimals of a stored mean: a nanosecond of a round trip in ms, beyond what was measured.
DECIMALS = 6


class SingleRegions:
    """Sums over clients; each client has weight one, divided among its counted rounds."""

    def __init__(self, *, higher_is_better: bool = False) -> None:
        self.higher_is_better = higher_is_better
        self.clients, self.points, self.worst = 0, 0, 0.0
        self.rounds: set[str] = set()
        self.sums: dict[str, tuple[float, float]] = {}

    def add(self, samples: Samples) -> None:
        """Add clients with the values of all their rounds; each client once."""
        counted = samples.counted
        rounds = counted.sum(axis=1)
        is_answered = rounds > 0
        self.clients += int(is_answered.sum())
        self.points += int(rounds.sum())
        some = np.flatnonzero(counted.any(axis=0))
        self.rounds.update(samples.rounds[t] for t in some)
        for region, plane in zip(samples.regions, samples.values[:, is_answered], strict=True):
            answered = ~np.isnan(plane)
            total = (
                np.where(answered, plane, 0.0).sum(axis=1, dtype=np.float64) / rounds[is_answered]
            )
            share = answered.sum(axis=1) / rounds[is_answered]
            before = self.sums.get(region, (0.0, 0.0))
            self.sums[region] = before[0] + float(total.sum()), before[1] + float(share.sum())
            self.worst = max(self.worst, float(np.max(plane, initial=0.0, where=answered)))

    @property
    def left_out(self) -> int:
        """How many rounds of clients do not count, because no region answered."""
        return self.clients * len(self.rounds) - self.points

    def means(self) -> dict[str, dict[str, Any]]:
        """Return each region's value, and the share of counted client-rounds that it answered.

        A counted client-round without its answer costs the worst value measured, and 0 where higher
        is better. A region that answered no client has no value.
        """
        penalty = 0.0 if self.higher_is_better else self.worst
        found = {}
        for region, (total, answered) in self.sums.items():
            value = total + (self.clients - answered) * penalty
            found[region] = {
                "vantage_mean": round(value / self.clients, DECIMALS) if answered else None,
                "answered_share": min(answered / self.clients, 1.0) if self.clients else None,
                "left_out": self.left_out,
            }
        return found
