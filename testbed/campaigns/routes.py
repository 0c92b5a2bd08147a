"""Synthetic traceroutes from every zone to every vantage point, generated from a seed.

Addresses are from an unallocated block (2d00::/8), AS numbers from the range for private use.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.campaigns import table_of
from testbed.campaigns.cities import CITIES, REGIONS, Region
from testbed.campaigns.samples import LABEL, ROUND_S, SEED, START_S, CampaignModel

# Private use (RFC 6996); the first ones are ISPs of the regions, the later ones of vantage points.
FIRST_ISP, FIRST_EDGE = 4_200_000_001, 4_200_001_001
CLOUD_ASN = 16509
TRACES = 10
# Shares of silent hops, of routes with unannounced addresses, and of filtered routes.
_SILENT, _UNROUTED, _FILTERED = 0.01, 0.012, 0.012
# Share of vantage points that always use the same ISP: they lose what fails with it.
_SINGLE_ISP = 0.3
Row = dict[str, Any]


def build_paths(world: CampaignModel, traces: int = TRACES, seed: int = SEED) -> Iterator[pa.Table]:
    """Yield one table of paths per zone, with ``traces`` rounds to every vantage point."""
    for number, (region, zone) in enumerate(world.targets):
        chance = np.random.default_rng([seed, 7, number])
        rows = list(_zone_rows(world, region, zone, chance, traces))
        yield table_of("paths", rows)


def find_origins(addresses: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the origin ASes of synthetic addresses."""
    return [_origin(address) for address in addresses]


def find_clouds(addresses: Sequence[str]) -> list[tuple[str, str]]:
    """Return provider and region of synthetic addresses."""
    return [_cloud(address) for address in addresses]


def isp_names() -> dict[int, str]:
    """Return the labelled names of the synthetic networks by AS number."""
    most = max(max(r.isps) for r in REGIONS) + len(REGIONS)
    edges = {FIRST_EDGE + i: f"{LABEL} network, {c.country}" for i, c in enumerate(CITIES)}
    return {FIRST_ISP + i: f"{LABEL} ISP {i + 1}" for i in range(most)} | edges


def _parts(address: str) -> list[int]:
    return [int(p, 16) for p in address.split("::")[0].split(":")]


def _origin(address: str) -> tuple[int, ...]:
    if not address.startswith("2dff:"):
        return ()
    kind, number = _parts(address)[1:3]
    return {0: (CLOUD_ASN,), 1: (FIRST_ISP + number,), 2: (FIRST_EDGE + number,)}.get(kind, ())


def _cloud(address: str) -> tuple[str, str]:
    if not address.startswith("2dff:0:"):
        return "", ""
    return "aws", REGIONS[_parts(address)[2]].name


def _weights(region: Region, count: int) -> NDArray[np.float64]:
    """The largest ISP has the share that was published; the rest falls off from there."""
    rest = 1.0 / np.arange(2, count + 1) ** 0.9
    return np.concatenate([[region.largest_share], rest / rest.sum() * (1 - region.largest_share)])


def _zone_rows(
    world: CampaignModel, region: Region, zone: str, chance: np.random.Generator, traces: int
) -> Iterator[Row]:
    at = REGIONS.index(region)
    count = region.isps[region.zones.index(zone)]
    usual = np.random.default_rng([SEED, 11, at]).choice(
        count, len(CITIES), p=_weights(region, count)
    )
    loyal = np.random.default_rng([SEED, 13]).random(len(CITIES)) < _SINGLE_ISP
    number = [i for i, (r, z) in enumerate(world.targets) if (r, z) == (region, zone)][0]
    for trace in range(traces):
        other = chance.choice(count, len(CITIES), p=_weights(region, count))
        taken = np.where(loyal | (chance.random(len(CITIES)) < 0.8), usual, other)
        # Every ISP of the zone carries a route at least once.
        if trace < 2:
            free = np.flatnonzero(~loyal)[trace * 4 :][:count]
            taken[free] = np.arange(count)[: len(free)]
        for index in range(len(CITIES)):
            ends = (at, region.zones.index(zone), index)
            base = float(world.base_ms[index, number])
            yield _row(ends, int(taken[index]), trace, base, chance)


def _row(
    ends: tuple[int, int, int], isp: int, trace: int, base: float, chance: np.random.Generator
) -> Row:
    at, zone, index = ends
    region, city = REGIONS[at], CITIES[index]
    edge = f"2dff:2:{index:x}::"
    # Numbers of ISPs begin elsewhere in every region, so that regions share some of them.
    carrier = f"2dff:1:{(isp + at) % 44:x}:{at:x}::"
    own = f"2dff:0:{at:x}:{zone:x}::"
    places = [f"{own}1", f"{own}2", f"{carrier}1", f"{carrier}2", f"{edge}1", f"{edge}2"]
    reached = bool(chance.random() > 0.03)
    if not reached:
        places[-1] = ""
    if chance.random() < _UNROUTED:
        places[2] = places[3] = "2dfe::1"
    if chance.random() < _FILTERED:
        # Filtered just beyond the cloud: no later hop answers.
        places[2:], reached = [""] * 4, False
    shown = [p if p and (p == places[-1] or chance.random() > _SILENT) else None for p in places]
    times = np.array([0.4, 0.9, 0.08 * base + 1.2, 0.55 * base, 0.9 * base, base])
    jitter = chance.gamma(1.2, 0.4, len(times))
    hops = [
        {"ttl": ttl, "address": place, "rtt_ms": None if place is None else float(ms)}
        for ttl, (place, ms) in enumerate(zip(shown, times + jitter, strict=True), 1)
    ]
    return {
        "round": trace,
        "vantage": f"{region.name}{region.zones[zone]}",
        "target": city.name,
        "provider": "aws",
        "region": region.name,
        "zone": f"{region.name}{region.zones[zone]}",
        "at": (START_S + trace * 14 * ROUND_S) * 1_000_000,
        "probe": "traceroute",
        "status": "OK" if reached else "TIMEOUT",
        "direction": "from",
        "source": f"{own}100",
        "destination": f"{edge}2",
        "flow": 1,
        "reached": reached,
        "hops": hops,
    }
