"""Group clients to map points of one degree, each with the regions that serve it.

A client with a country but no coordinates is placed in its largest city; one without either has no
point and is counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.impact.assignment import Assignment, Floats, Ints
from analysis.impact.internet_users import country_users
from analysis.impact.places import Client, Point

# More points would clutter the map; those of least weight are left out, and counted.
MAX_SPOTS = 250


@dataclass(frozen=True, slots=True)
class MapPoint:
    """Clients that stand together; ``weight`` is their share of all weight."""

    at: Point
    country: str
    clients: int
    weight: float


@dataclass(frozen=True, eq=False)
class MapPoints:
    """Spots by weight, heaviest first; ``of`` is the spot of each client, -1 where it has none."""

    spots: tuple[MapPoint, ...]
    of: Ints
    clients_without: int


def build_map_points(clients: Sequence[Client], weights: Floats) -> MapPoints:
    """Return the spots of clients."""
    keys = [_key(client) for client in clients]
    numbers = {key: a for a, key in enumerate(dict.fromkeys(k for k in keys if k))}
    of = np.array([numbers.get(key, -1) if key else -1 for key in keys], np.int64)
    known = of >= 0
    sums = np.bincount(of[known], weights[known], minlength=len(numbers))
    counts = np.bincount(of[known], minlength=len(numbers))
    order = np.argsort(-sums, kind="stable")[:MAX_SPOTS]
    place = np.full(len(numbers) + 1, -1)
    place[order] = np.arange(order.size)
    total = float(weights.sum()) or 1.0
    names = list(numbers)
    spots = tuple(
        MapPoint(names[a][0], names[a][1], int(counts[a]), float(sums[a]) / total) for a in order
    )
    of = place[of]
    return MapPoints(spots, of, int((of < 0).sum()))


def _key(client: Client) -> tuple[Point, str] | None:
    if client.at is not None:
        return (round(client.at[0]), round(client.at[1])), client.country
    land = country_users().get(client.country)
    return (land.at[0], client.country) if land else None


def served(serving: Assignment, spots: MapPoints) -> list[list[list[float]]]:
    """Give, per spot, the regions that answer it, best first: number and mean value of each."""
    on = spots.of >= 0
    size = len(spots.spots)
    table = np.full((len(serving.regions), size), np.inf)
    for j in range(len(serving.regions)):
        is_heard = np.isfinite(serving.means[j])
        weights, means = serving.weights * is_heard, np.where(is_heard, serving.means[j], 0.0)
        whole = np.bincount(spots.of[on], weights[on], minlength=size)
        part = np.bincount(spots.of[on], (weights * means)[on], minlength=size)
        table[j] = np.where(whole > 0, part / np.maximum(whole, 1e-300), np.inf)
    sign = 1 if serving.faster else -1
    order = np.argsort(table, axis=0, kind="stable")
    return [
        [
            [int(j), round(sign * float(table[j, spot]), 2)]
            for j in order[:, spot]
            if np.isfinite(table[j, spot])
        ]
        for spot in range(size)
    ]
