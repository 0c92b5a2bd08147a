"""Compare zones of one region by paired means over the same vantage points (IMC'13 Table 12)."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.importers.csv_columns import Equal, Source
from analysis.optimization.model.samples import Samples

Floats = NDArray[np.float64]
# Two-sided 95 % quantile of the normal distribution: there are tens of vantage points or more.
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two zones: the mean difference (second less first) over vantage points that measured both.

    ``low`` and ``high`` are its 95 % confidence interval, None below two vantage points;
    ``relative`` is the median over vantage points of the absolute difference by their mean.
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
    """Compare all pairs of zones of each region; raise ``BadInput``. Samples without a zone are
    left out."""
    return compare_means(summarise(source, ("region", "zone", "vantage"), equal))


def compare_means(found: pa.Table) -> list[Comparison]:
    """Compare zones from the table of means by region, zone and vantage point."""
    found = found.filter(pc.and_(pc.is_valid(found["mean"]), pc.not_equal(found["zone"], "")))
    regions = pc.unique(found["region"]).to_pylist()
    compared = (
        _compare(region, pair, means)
        for region in sorted(regions)
        for means in [_means(found.filter(pc.equal(found["region"], region)))]
        for pair in combinations(sorted(means), 2)
    )
    return [comparison for comparison in compared if comparison is not None]


def _means(rows: pa.Table) -> dict[str, Floats]:
    """Return the means of each zone, (n_vantages,) float64 in one order, NaN where missing."""
    vantages = pc.cast(rows["vantage"], pa.string()).combine_chunks().dictionary_encode()
    size = len(vantages.dictionary)
    codes = np.asarray(vantages.indices)
    zones, means = rows["zone"].to_numpy(zero_copy_only=False), rows["mean"].to_numpy()
    means_of = {}
    for zone in set(zones.tolist()):
        own = zones == zone
        means_of[zone] = np.full(size, np.nan)
        means_of[zone][codes[own]] = means[own]
    return means_of


def relative_spreads(samples: Samples) -> Floats:
    """Return (largest - least mean) by the mean over regions, per vantage point with a value."""
    means = samples.collapsed().values[:, :, 0]
    means = means[:, np.isfinite(means).any(axis=0)]
    if not means.size:
        return np.zeros(0)
    found: Floats = (np.fmax.reduce(means) - np.fmin.reduce(means)) / np.nanmean(means, axis=0)
    return found[np.isfinite(found)]


def median_spread(spreads: Floats) -> dict[str, Any]:
    """Return the median spread over all vantage points."""
    return {
        "vantages": len(spreads),
        "relative": float(np.median(spreads)) if len(spreads) else None,
    }


def _compare(region: str, pair: tuple[str, str], means: dict[str, Floats]) -> Comparison | None:
    one, two = means[pair[0]], means[pair[1]]
    both = np.isfinite(one) & np.isfinite(two)
    if not both.any():
        return None
    first, second = one[both], two[both]
    difference = second - first
    low, high = _bounds(difference)
    middle = (first + second) / 2
    relative = np.abs(difference) / np.where(middle > 0, middle, np.nan)
    return Comparison(
        region,
        *pair,
        int(both.sum()),
        float(first.mean()),
        float(second.mean()),
        float(difference.mean()),
        low,
        high,
        float(np.nanmedian(relative)),
    )


def _bounds(difference: Floats) -> tuple[float | None, float | None]:
    if len(difference) < 2:
        return None, None
    half = _Z * float(difference.std(ddof=1)) / len(difference) ** 0.5
    return float(difference.mean()) - half, float(difference.mean()) + half
