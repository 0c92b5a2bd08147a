"""Zones of one region compared by what the same vantage points see of them in the same rounds."""

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
    return compare_means(summarise(source, ("region", "zone", "vantage"), equal))


def compare_means(found: pa.Table) -> list[Comparison]:
    """The same from the mean of each region, zone and vantage point."""
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
    """Of each zone of a region, the means of all vantage points that saw any, in one order."""
    vantages = pc.cast(rows["vantage"], pa.string()).combine_chunks().dictionary_encode()
    size = len(vantages.dictionary)
    codes = np.asarray(vantages.indices)
    zones, means = rows["zone"].to_numpy(zero_copy_only=False), rows["mean"].to_numpy()
    made = {}
    for zone in set(zones.tolist()):
        own = zones == zone
        made[zone] = np.full(size, np.nan)
        made[zone][codes[own]] = means[own]
    return made


def apart_by_vantage(samples: Samples) -> Floats:
    """How far regions lie apart for each vantage point that heard any."""
    means = samples.collapsed().values[:, :, 0]
    means = means[:, np.isfinite(means).any(axis=0)]
    if not means.size:
        return np.zeros(0)
    found: Floats = (np.fmax.reduce(means) - np.fmin.reduce(means)) / np.nanmean(means, axis=0)
    return found[np.isfinite(found)]


def median_apart(apart: Floats) -> dict[str, Any]:
    """The same over all vantage points together."""
    return {"vantages": len(apart), "relative": float(np.median(apart)) if len(apart) else None}


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
