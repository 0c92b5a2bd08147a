"""Geographic instances by seed: 66 metros of 8 providers as regions, clients around 600 centres."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.optimization import Facts, Samples

METROS = np.array(
    [
        *((39.0, -77.5), (40, -83), (37.4, -122), (45.8, -119.7), (41.2, -95.9), (33.2, -80)),
        *((29.4, -98.5), (41.9, -87.6), (36.2, -115.2), (34, -118), (40.8, -112), (33.4, -112)),
        *((45.5, -73.6), (43.7, -79.4), (51, -114), (20.6, -100.4), (-23.5, -46.6)),
        *((-33.4, -70.6), (4.7, -74), (53.3, -6.3), (51.5, -0.1), (48.9, 2.35), (50.1, 8.7)),
        *((52.4, 4.9), (50.5, 3.8), (60.6, 27.1), (59.3, 18.1), (60.2, 24.9), (59.9, 10.7)),
        *((55.7, 12.5), (45.5, 9.2), (41.9, 12.5), (40.4, -3.7), (41.1, -0.9), (47.4, 8.5)),
        *((52.2, 21), (48.2, 16.4), (32.1, 34.8), (25.2, 55.3), (26, 50.5), (24.7, 46.7)),
        *((25.3, 51.5), (-26.2, 28), (-33.9, 18.4), (19.1, 72.9), (28.6, 77.2), (17.4, 78.5)),
        *((13, 80.3), (1.35, 103.8), (-6.2, 106.8), (3.1, 101.7), (13.8, 100.5), (22.3, 114.2)),
        *((25, 121.5), (37.6, 127), (35.7, 139.7), (34.7, 135.5), (39.9, 116.4), (31.2, 121.5)),
        *((22.5, 114.1), (38.5, 106.2), (-33.9, 151.2), (-37.8, 145), (-35.3, 149.1)),
        *((-36.8, 174.8), (55.8, 37.6)),
    ],
    dtype=float,
)
BOXES = np.array(
    [
        [25, 50, -125, -70],
        [-35, 10, -78, -40],
        [36, 60, -9, 40],
        [-33, 33, -15, 45],
        [8, 33, 68, 90],
        [-10, 25, 95, 125],
        [22, 42, 100, 140],
        [-38, -15, 115, 153],
        [50, 60, 40, 130],
    ],
    dtype=float,
)
BOX_SHARES = (0.2, 0.12, 0.22, 0.14, 0.14, 0.08, 0.07, 0.01, 0.02)
CENTRES, PROVIDERS, NOISE = 600, 8, 0.12
SIZES = ((200, 2000), (200, 10_000), (250, 10_000))
SEEDS, KS = (1, 2, 3), (3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, eq=False)
class Instance:
    """Return round-trip times (ms) per client and region, weights, and places of the regions."""

    base_ms: Any
    weights: Any
    provider: Any
    metro: Any

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of regions."""
        return tuple(f"r{j}" for j in range(len(self.provider)))

    @cached_property
    def samples(self) -> Samples:
        """One round, in steps of 10 µs."""
        values = np.ascontiguousarray(np.rint(self.base_ms * 100).T) / 100
        return self._samples(values[:, :, None])

    def rounds(self, count: int, seed: int) -> Samples:
        """Many rounds: a day's wave of 10 % per client, and 8 % of noise per round."""
        g = np.random.default_rng(seed + 100)
        clients, regions = self.base_ms.shape
        phase = g.uniform(0, 2 * np.pi, (clients, 1)).astype(np.float32)
        hour = np.arange(count, dtype=np.float32) * np.float32(2 * np.pi / count)
        wave = 1 + np.float32(0.1) * np.sin(hour[None] + phase)
        values = np.empty((regions, clients, count), np.float32)
        for j in range(regions):
            noise = np.exp(g.standard_normal((clients, count), dtype=np.float32) * np.float32(0.08))
            values[j] = self.base_ms[:, j, None].astype(np.float32) * wave * noise
        return self._samples(values)

    def facts(self) -> dict[str, Facts]:
        """Provider, country, continent and price of each region, made up from its metro."""
        return {
            name: Facts(f"p{p}", f"c{m}", f"k{m // 10}", 10.0 + m % 17)
            for name, p, m in zip(self.regions, self.provider, self.metro, strict=True)
        }

    def _samples(self, values: Any) -> Samples:
        clients = tuple(f"c{i}" for i in range(values.shape[1]))
        rounds = tuple(f"t{i}" for i in range(values.shape[2]))
        return Samples(self.regions, clients, rounds, values, self.weights.astype(float))


def generate(regions: int, clients: int, seed: int) -> Instance:
    """Give the instance of a size and seed; draws come in the order that defines the suite."""
    g = np.random.default_rng(seed)
    pairs = [(m, p) for m in range(len(METROS)) for p in range(PROVIDERS)]
    pick = g.choice(len(pairs), min(regions, len(pairs)), replace=False)
    metro, provider = (np.array([pairs[i][side] for i in pick]) for side in (0, 1))
    places = METROS[metro] + g.normal(0, 0.3, (len(pick), 2))
    centre, where = _clients(g, clients)
    stretch = 1.25 + np.exp(g.normal(-1.0, 0.6, (CENTRES, PROVIDERS)))
    base = _distance_km(where, places) / 100 * stretch[centre][:, provider]
    base = base + g.gamma(2, 4, (clients, 1)) + 0.5
    base = base * np.exp(g.normal(0, NOISE, (clients, len(pick))))
    weights = np.minimum(1 + g.pareto(1.1, clients) * 10, 2000).astype(np.int64)
    return Instance(base, weights, provider, metro)


def _clients(g: np.random.Generator, clients: int) -> tuple[Any, Any]:
    """Give each client's centre and place: half the centres near metros, half anywhere on land."""
    centres, near = np.empty((CENTRES, 2)), CENTRES // 2
    centres[:near] = METROS[g.integers(0, len(METROS), near)] + g.normal(0, 5, (near, 2))
    box = BOXES[g.choice(len(BOXES), CENTRES - near, p=BOX_SHARES)]
    centres[near:, 0] = g.uniform(box[:, 0], box[:, 1])
    centres[near:, 1] = g.uniform(box[:, 2], box[:, 3])
    share = g.pareto(1.2, CENTRES) + 0.2
    centre = g.choice(CENTRES, clients, p=share / share.sum())
    return centre, centres[centre] + g.normal(0, 1.0, (clients, 2))


def _distance_km(a: Any, b: Any) -> Any:
    """Great-circle distances between all of ``a`` and all of ``b``."""
    p, q = np.radians(a)[:, None], np.radians(b)[None]
    half = np.sin((p[..., 0] - q[..., 0]) / 2) ** 2
    half = half + np.cos(p[..., 0]) * np.cos(q[..., 0]) * np.sin((p[..., 1] - q[..., 1]) / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))
