"""Name servers: operators, locations, and the domains they serve."""

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.addresses.pools import Pool
from testbed.generate.apportion import apportion, scaled
from testbed.world.model import Name, Zone

_PER_OPERATOR = 4


def serve_zones(
    cloud: Sequence[Zone],
    background: Sequence[Zone],
    raw: Mapping[str, Any],
    scale: Fraction,
    allocator: AddressAllocator,
    rng: random.Random,
) -> dict[str, tuple[str, ...]]:
    """Set ``servers`` of all zones; return the addresses of every server by name.

    Servers of each place are as many as published (section 4.4.1), and every one serves some
    domain; the numbers of servers per name follow Figure 11.
    """
    places = _places(cloud, raw, scale, rng)
    weights = {z.domain: sum(_in_cloud(n, allocator) for n in z.names) for z in cloud}
    counts = _counts(weights, raw["counts"])
    hosts: dict[str, tuple[str, ...]] = {}
    everyday: list[str] = []
    for place in raw["hosts"]:
        own = [zone for zone in cloud if places[zone.domain] == place]
        demand = sum(counts[zone.domain] for zone in own)
        size = min(demand, max(1, scaled(raw["hosts"][place], scale)))
        names = [_host_name(place, i) for i in range(size)]
        hosts |= {name: (_address(place, allocator),) for name in names}
        pool = Pool(max(1, demand), names)
        for zone in own:
            zone.servers = tuple(names[i] for i in pool.allocate(counts[zone.domain]))
        everyday = names or everyday
    _serve_background(background, everyday, rng)
    return hosts


def _places(
    cloud: Sequence[Zone], raw: Mapping[str, Any], scale: Fraction, rng: random.Random
) -> dict[str, str]:
    held = {p for p, n in raw["hosts"].items() if p == "other" or scaled(n, scale) > 0}
    shares = {place: n for place, n in raw["domains"].items() if place in held}
    parts = apportion(len(cloud), list(shares.values()))
    assigned = [p for p, n in zip(shares, parts, strict=True) for _ in range(n)]
    rng.shuffle(assigned)
    return dict(zip((zone.domain for zone in cloud), assigned, strict=True))


def _in_cloud(name: Name, allocator: AddressAllocator) -> bool:
    return any(address in allocator.places for address in name.addresses)


def _counts(weights: Mapping[str, int], table: Sequence[Sequence[int]]) -> dict[str, int]:
    """Servers per domain, so that the shares of the figure hold among cloud-using names."""
    whole = sum(share for _, share in table)
    total = sum(weights.values())
    missing = {n: total * share / whole for n, share in table}
    chosen: dict[str, int] = {}
    for domain in sorted(weights, key=lambda d: -weights[d]):
        number = max(missing, key=lambda n: missing[n])
        missing[number] -= weights[domain]
        chosen[domain] = number
    return chosen


def _host_name(place: str, index: int) -> str:
    operator, number = divmod(index, _PER_OPERATOR)
    if place == "route53":
        return f"ns-{index}.awsdns-{operator:02d}.example"
    kind = {"aws": "vm-dns", "azure": "azure-dns"}.get(place, "dns")
    return f"ns{number + 1}.{kind}-{operator}.example"


def _address(place: str, allocator: AddressAllocator) -> str:
    if place == "other":
        return allocator.other_address()
    if place == "route53":
        return allocator.dns_address()
    return allocator.compute_address(place, {"aws": "us-east-1", "azure": "northcentralus"}[place])


def _serve_background(zones: Sequence[Zone], names: Sequence[str], rng: random.Random) -> None:
    for zone in zones:
        start = rng.randrange(max(1, len(names) // _PER_OPERATOR)) * _PER_OPERATOR
        zone.servers = tuple(names[start : start + 2])
