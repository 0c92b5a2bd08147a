"""Compute percentiles, shares and samples of duration histograms, as (slot, count) pairs."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from screening.agent_parts.histograms import SLOTS, find_bounds_ns

Pairs = Sequence[tuple[int, int]]
MIDDLES_MS = np.array([sum(find_bounds_ns(slot)) / 2e6 for slot in range(SLOTS)])


def find_middles_ms(pairs: Pairs) -> NDArray[np.float64]:
    """Middle of every slot."""
    return np.asarray(MIDDLES_MS[[slot for slot, _ in pairs]])


def find_percentile_ms(pairs: Pairs, share: float) -> float:
    """Duration that ``share`` of all counts do not exceed, by nearest rank; NaN without counts."""
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    if not counts.sum():
        return float("nan")
    rank = max(1, int(np.ceil(share * counts.sum() - 1e-9)))
    return float(find_middles_ms(pairs)[np.searchsorted(counts.cumsum(), rank)])


def merge(histograms: Iterable[Pairs]) -> list[tuple[int, int]]:
    """One histogram of several."""
    total: dict[int, int] = {}
    for pairs in histograms:
        for slot, count in pairs:
            total[slot] = total.get(slot, 0) + count
    return sorted(total.items())


def spread_ms(pairs: Pairs, points: int) -> NDArray[np.float64]:
    """Ascending sample of a histogram, evenly by rank, spread inside each slot."""
    counts = np.array([count for _, count in pairs], dtype=np.float64)
    edges = np.concatenate([[0.0], counts.cumsum() / counts.sum()])
    bounds = [find_bounds_ns(slot) for slot, _ in pairs]
    ranks = (np.arange(points) + 0.5) / points
    at = np.clip(np.searchsorted(edges, ranks, side="right") - 1, 0, len(bounds) - 1)
    inside = (ranks - edges[at]) / (edges[at + 1] - edges[at])
    low = np.array([low for low, _ in bounds])[at]
    high = np.array([high for _, high in bounds])[at]
    return np.asarray((low + inside * (high - low)) / 1e6)
