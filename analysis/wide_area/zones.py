"""Zones of one region compared by what the same vantage points see of them in the same rounds."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.regions.samples import Samples
from analysis.wide_area.columns import Equal, Source
from analysis.wide_area.grid import summarise

Floats = NDArray[np.float64]
# Two-sided 95 % of the normal distribution: there are tens of vantage points or more.
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two zones: the mean difference (second less first) over vantage points that saw both.

    ``low`` and ``high`` bound it with 95 %; ``relative`` is the median over vantage points of the
    size of the difference by their mean; with fewer than two of them there are no bounds.
    """

    region: str
    first: str
    second: str
    vantages: int
    first_mean: float
    second_mean: float
    difference: float
    low: float | None
    high: float | None
    relative: float


def compare_zones(source: Source, equal: Equal | None = None) -> list[Comparison]:
    """All pairs of zones of every region; raises ``BadInput``. Samples without a zone are left."""
    means: dict[str, dict[str, dict[str, float]]] = {}
    for row in summarise(source, ("region", "zone", "vantage"), equal).to_pylist():
        if row["zone"] and row["mean"] is not None:
            zone = means.setdefault(row["region"], {}).setdefault(row["zone"], {})
            zone[row["vantage"]] = row["mean"]
    found = (
        _compare(region, pair, means[region])
        for region in sorted(means)
        for pair in combinations(sorted(means[region]), 2)
    )
    return [comparison for comparison in found if comparison is not None]


def spread_of_regions(samples: Samples) -> dict[str, Any]:
    """What to hold differences of zones against: how far regions lie apart for the same vantage
    points, as the median over vantage points of (largest - least) by their mean."""
    means = samples.collapsed().values[:, :, 0]
    means = means[:, np.isfinite(means).any(axis=0)]
    if not means.size:
        return {"vantages": 0, "relative": None}
    apart = (np.fmax.reduce(means) - np.fmin.reduce(means)) / np.nanmean(means, axis=0)
    known = apart[np.isfinite(apart)]
    return {"vantages": len(known), "relative": float(np.median(known)) if len(known) else None}


def _compare(
    region: str, pair: tuple[str, str], zones: dict[str, dict[str, float]]
) -> Comparison | None:
    one, two = zones[pair[0]], zones[pair[1]]
    both = sorted(one.keys() & two.keys())
    if not both:
        return None
    first = np.array([one[v] for v in both])
    second = np.array([two[v] for v in both])
    difference = second - first
    low, high = _bounds(difference)
    middle = (first + second) / 2
    relative = np.abs(difference) / np.where(middle > 0, middle, np.nan)
    return Comparison(
        region, *pair, len(both), float(first.mean()), float(second.mean()),
        float(difference.mean()), low, high, float(np.nanmedian(relative)),
    )  # fmt: skip


def _bounds(difference: Floats) -> tuple[float | None, float | None]:
    if len(difference) < 2:
        return None, None
    half = _Z * float(difference.std(ddof=1)) / len(difference) ** 0.5
    return float(difference.mean()) - half, float(difference.mean()) + half
