"""Injected obstacles to a survey: wildcards, faults, refused transfers, unguessable names."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.naming import Labeller
from testbed.world.model import (
    ALLOW,
    CUT,
    DROP_FIRST,
    MISSING,
    SERVFAIL,
    SERVFAIL_FIRST,
    SILENT,
    Name,
    Wildcard,
    Zone,
)

_KINDS = ("static", "rotating", "cname", "second")
_POOL, _SHOWN = 4, 2
_SECOND_LEVELS = ("dev", "staging", "demo", "users", "sites", "preview")
# Common subdomain labels, and names of released provider resources.
_DANGLING_LABELS = ("old", "beta", "promo", "staging", "shop2")
_RELEASED_TARGETS = (
    "left-{}.azurewebsites.net",
    "left-{}.us-east-1.elb.amazonaws.com",
    "left-{}.herokuapp.com",
    "left-{}.cloudapp.net",
)
UNGUESSABLE = "label cannot be guessed"
IN_FAILING_ZONE = "every question to the zone fails"


def abort_transfers(zones: Sequence[Zone], share: float, rng: random.Random) -> None:
    """Let some of the zones that refuse transfers start one and abort it."""
    able = [zone for zone in zones if zone.transfer != ALLOW and zone.names]
    for zone in rng.sample(able, round(len(able) * share)):
        zone.transfer = CUT


def add_wildcards(
    zones: Sequence[Zone],
    hardship: Mapping[str, Any],
    allocator: AddressAllocator,
    rng: random.Random,
) -> None:
    """Give a share of zones a wildcard, the kinds in turn; none answers as a real name does."""
    region = "us-east-1"
    count = round(len(zones) * hardship["wildcards"])
    for number, zone in enumerate(rng.sample(list(zones), count)):
        kind = _KINDS[number % len(_KINDS)]
        in_cloud = rng.random() < hardship["wildcards_in_cloud"]
        size = _POOL if kind == "rotating" else 1
        pool = tuple(
            allocator.compute_address("aws", region) if in_cloud else allocator.other_address()
            for _ in range(size)
        )
        zone.wildcard = Wildcard(
            at=_second_level(zone) if kind == "second" else zone.domain,
            cnames=(f"parked-{number}.hosting.example",) if kind == "cname" else (),
            pool=pool,
            width=_SHOWN if kind == "rotating" else size,
        )


def _second_level(zone: Zone) -> str:
    held = {name.fqdn for name in zone.names}
    free = (f"{label}.{zone.domain}" for label in _SECOND_LEVELS)
    return next((at for at in free if at not in held), f"wild.{zone.domain}")


def add_hidden_names(
    zones: Sequence[Zone],
    count: int,
    addresses: Sequence[str],
    labeller: Labeller,
    rng: random.Random,
) -> None:
    """Add cloud names that no technique can find, behind front ends that exist already."""
    able = [zone for zone in zones if zone.transfer not in (ALLOW, CUT)]
    for _ in range(count if able and addresses else 0):
        zone = rng.choice(able)
        fqdn = f"{labeller.unguessable()}.{zone.domain}"
        zone.names.append(Name(fqdn, (), (rng.choice(addresses),), (), UNGUESSABLE))


def add_dangling_aliases(zones: Sequence[Zone], share: float, rng: random.Random) -> None:
    """Add dangling aliases to released machines and platforms to some zones."""
    able = [zone for zone in zones if zone.names]
    for number, zone in enumerate(rng.sample(able, round(len(able) * share))):
        held = {name.fqdn for name in zone.names}
        fqdn = f"{rng.choice(_DANGLING_LABELS)}.{zone.domain}"
        if fqdn not in held:
            target = _RELEASED_TARGETS[number % len(_RELEASED_TARGETS)].format(number + 1)
            zone.names.append(Name(fqdn, (target,)))


def inject_zone_faults(
    zones: Sequence[Zone],
    hardship: Mapping[str, Any],
    total: int,
    addresses: Sequence[str],
    rng: random.Random,
) -> None:
    """Let some background zones fail permanently, with cloud names that are never found."""
    wanted = [
        (fault, max(1, round(total * hardship[key])))
        for fault, key in ((SERVFAIL, "failing_zones"), (SILENT, "silent_zones"))
    ]
    able = [zone for zone in zones if not zone.fault]
    rng.shuffle(able)
    for fault, count in wanted:
        for _ in range(min(count, len(able))):
            zone = able.pop()
            zone.fault = fault
            for name in zone.names:
                name.addresses = (rng.choice(addresses),)
                name.addresses6, name.hidden = (), IN_FAILING_ZONE


def remove_zones(zones: Sequence[Zone], share: float, rng: random.Random) -> None:
    """Remove some listed domains: their names do not exist."""
    for zone in rng.sample(list(zones), round(len(zones) * share)):
        zone.fault, zone.servers, zone.names = MISSING, (), []


def inject_first_query_faults(
    zones: Sequence[Zone], hardship: Mapping[str, Any], rng: random.Random
) -> dict[str, str]:
    """Return the injected fault of the first query by name; at least one of each kind."""
    able = [name.fqdn for zone in zones if not zone.fault for name in zone.names]
    drops = max(1, round(len(able) * hardship["drop_first"]))
    fails = max(1, round(len(able) * hardship["servfail_first"]))
    chosen = rng.sample(able, min(len(able), drops + fails))
    return {name: DROP_FIRST if i < drops else SERVFAIL_FIRST for i, name in enumerate(chosen)}
