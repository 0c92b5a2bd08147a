"""An earlier state of a world: the same domains, some of which were hosted elsewhere.

The moves are known, so that a comparison of two surveys can be held against them.
"""

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import cycle

from testbed.generate.addresses.allocator import build_allocator
from testbed.world.model import Name, World, Zone

# Where the names of a moved domain were before (chosen); other hosting has no region.
_BEFORE = (
    ("aws", "us-east-1"),
    ("aws", "eu-west-1"),
    ("azure", "northcentralus"),
    ("", ""),
    ("aws", "us-west-1"),
)


@dataclass(frozen=True, slots=True)
class Move:
    """Names of a domain that were at one place (provider, region) and are at another now.

    A place outside all clouds has neither.
    """

    domain: str
    names: tuple[str, ...]
    before: tuple[str, str]
    after: tuple[str, str]


def build_earlier(
    world: World, share: float = 0.12, fixed: Collection[str] = ()
) -> tuple[World, list[Move]]:
    """Return the world as it was, and what moved since: ``share`` of the domains that can move.

    Domains of ``fixed`` never do: nothing is invented about domains that exist.
    """
    chance = random.Random(f"{world.id}:earlier")
    movable = [
        (zone, names)
        for zone in world.zones
        if zone.domain not in fixed and (names := _movable(world, zone))
    ]
    chosen = chance.sample(movable, round(share * len(movable)))
    allocator = build_allocator(world.ranges)
    published = {(provider, region) for provider, _, region in allocator.spaces}
    places = cycle([p for p in _BEFORE if not p[0] or p in published])

    def allocate(place: tuple[str, str]) -> str:
        provider, region = place
        if not provider:
            return allocator.other_address()
        return _unused(world, lambda: allocator.compute_address(provider, region, "a"))

    moves, zones = [], {zone.domain: zone for zone in world.zones}
    for zone, names in sorted(chosen, key=lambda pair: pair[0].rank):
        after = _place(world, names[0])
        before = next(place for place in places if place != after)
        moved = {name.fqdn for name in names}
        zones[zone.domain] = replace(
            zone,
            names=[
                replace(n, addresses=tuple(allocate(before) for _ in n.addresses), addresses6=())
                if n.fqdn in moved
                else n
                for n in zone.names
            ],
        )
        moves.append(Move(zone.domain, tuple(sorted(moved)), before, after))
    # The allocator skipped addresses of the world, which keep their places.
    known = allocator.places | world.places
    return replace(world, zones=list(zones.values()), places=known), moves


def _movable(world: World, zone: Zone) -> list[Name]:
    """Return the names of a domain with addresses of their own, all at the place of the first."""
    if zone.fault or zone.wildcards:
        return []
    plain = [n for n in zone.names if n.addresses and not n.cnames and not n.hidden]
    in_cloud = [n for n in plain if _place(world, n)[0] and len(_places(world, n)) == 1]
    return [n for n in in_cloud if _place(world, n) == _place(world, in_cloud[0])]


def _places(world: World, name: Name) -> set[tuple[str, str]]:
    found = (world.place(address) for address in name.addresses)
    return {(place.provider or "", place.region or "") for place in found}


def _place(world: World, name: Name) -> tuple[str, str]:
    return min(_places(world, name))


def _unused(world: World, allocate: Callable[[], str]) -> str:
    """Return the first address that nothing of the world uses."""

    def drawn() -> Iterator[str]:
        while True:
            yield allocate()

    return next(address for address in drawn() if address not in world.places)
