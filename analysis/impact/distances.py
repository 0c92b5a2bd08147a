"""Great-circle distances between clients and the regions that serve them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Assignment, Floats
from analysis.impact.places import Client, Point, Region

EARTH_RADIUS_KM = 6371.0
PERCENTILES = (50, 95)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far clients are from their home regions, by weight, of those with known places.

    ``known_share`` is their share of weight. ``in_country`` and ``in_continent`` are shares of the
    weight with countries, or continents, known on both sides; None without any.
    """

    known_share: float
    mean_km: float | None
    percentiles_km: Mapping[int, float | None]
    in_country: float | None
    in_continent: float | None


def great_circle_km(first: NDArray[np.float64], second: NDArray[np.float64]) -> Floats:
    """Return distances between rows of (latitude, longitude) in degrees, first by second."""
    a, b = np.radians(first), np.radians(second)
    latitudes, longitudes = a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1]
    cosines = np.cos(a[:, None, 0]) * np.cos(b[None, :, 0])
    half = np.sin(latitudes / 2) ** 2 + cosines * np.sin(longitudes / 2) ** 2
    return np.asarray(2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0, 1))))


def points_of(places: Sequence[Point | None]) -> Floats:
    """Return places as rows of latitude and longitude, not-a-number where one is unknown."""
    return np.array([at or (np.nan, np.nan) for at in places], np.float64).reshape(-1, 2)


def distance(
    serving: Assignment, clients: Sequence[Client], facts: Mapping[str, Region]
) -> Distance:
    """Return how far clients are from the regions that serve them."""
    regions = [facts[name] for name in serving.regions]
    km = great_circle_km(points_of([c.at for c in clients]), points_of([r.at for r in regions]))
    homes, weights = serving.homes, serving.weights
    own = np.where(homes >= 0, km[np.arange(len(homes)), np.maximum(homes, 0)], np.nan)
    known = ~np.isnan(own) & (weights > 0)
    share = float(weights[known].sum()) / serving.total
    mean, ends = None, dict.fromkeys(PERCENTILES)
    if known.any():
        mean = float(np.average(own[known], weights=weights[known]))
        ends = {p: weighted_percentile(own[known], weights[known], p) for p in PERCENTILES}
    countries = _alike(serving, [c.country for c in clients], [r.country for r in regions])
    continents = _alike(serving, [c.continent for c in clients], [r.continent for r in regions])
    return Distance(share, mean, ends, countries, continents)


def weighted_percentile(values: Floats, weights: Floats, percentile: float) -> float:
    """Return the least value that so many of a hundred parts of weight do not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, percentile / 100 * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(place, len(order) - 1)]])


def _alike(serving: Assignment, clients: Sequence[str], regions: Sequence[str]) -> float | None:
    homes = [regions[h] if h >= 0 else "" for h in serving.homes.tolist()]
    pairs = zip(clients, homes, serving.weights.tolist(), strict=True)
    known = [(client == home, weight) for client, home, weight in pairs if client and home]
    whole = sum(weight for _, weight in known)
    return sum(weight for same, weight in known if same) / whole if whole else None
