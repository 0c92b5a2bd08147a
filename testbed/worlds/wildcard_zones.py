"""Worlds of many plain zones, a share of them with wildcards of every form.

The zones follow a world file and the labels of a word list.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from core.errors import BadInput
from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.apportion import scaled
from testbed.generate.naming import invent_domains
from testbed.world.model import Name, PublishedRanges, Wildcard, World, Zone

# Labels of nested wildcards, and the share that answers exactly as the upper one does.
_NESTED_AT = ("dev", "test", "api", "staging")
_SAME_AS_ABOVE = 0.25
# How often a name exists where a wildcard answers for names below it.
_NAMED_LEVEL = 0.5
# In a zone with a wildcard below it, the share of the names there too, if words allow.
_BELOW = 3


def build_wildcard_world(
    raw: Mapping[str, Any],
    scale: Fraction | None,
    seed: int,
    labels: Sequence[str],
    allocator: AddressAllocator,
    ranges: tuple[PublishedRanges, ...],
) -> World:
    """Build the world of a file of kind ``wild``; ``scale`` is the share of its zones."""
    scale = Fraction(1) if scale is None else Fraction(scale)
    if not 0 < scale <= 1:
        raise BadInput(f"{scale} is not a share: give more than 0 and at most 1", field="scale")
    rng = random.Random(f"{raw['name']}:{scale}:{seed}")
    world = World(
        str(raw["name"]),
        scale,
        seed,
        [],
        {},
        allocator.places,
        ranges,
        raw["as_of"],
        str(raw.get("origin", "")),
    )
    for host, count in raw["name_servers"].items():
        world.hosts[host] = tuple(allocator.other_address() for _ in range(count))
    builder = _ZoneBuilder(raw, labels, allocator, rng)
    count = max(1, scaled(raw["zones"]["count"], scale))
    world.zones = builder.build(count, tuple(world.hosts))
    world.notes += allocator.notes
    return world


class _ZoneBuilder:
    """Builds zones; every draw comes from one random stream."""

    def __init__(
        self,
        raw: Mapping[str, Any],
        labels: Sequence[str],
        allocator: AddressAllocator,
        rng: random.Random,
    ) -> None:
        self._numbers = raw["zones"]
        self._forms = raw["wildcards"]
        self._spots = [(who, region) for who, codes in raw["regions"].items() for region in codes]
        self._labels = list(labels)
        self._allocator = allocator
        self._rng = rng
        self._target_count = 0

    def build(self, count: int, servers: tuple[str, ...]) -> list[Zone]:
        """Build ``count`` zones, the wildcards assigned to them at random."""
        domains = invent_domains(count, set(), self._rng)
        wild = self._rng.sample(range(count), round(count * self._numbers["wild"]))
        zones = [Zone(d, rank, servers=servers) for rank, d in enumerate(domains, 1)]
        for turn, index in enumerate(wild):
            form = self._forms[turn % len(self._forms)]
            card = zones[index].wildcard = self._wildcard(zones[index].domain, form)
            zones[index].nested = self._nested(zones[index].domain, card)
        for zone in zones:
            self._add_names(zone)
        return zones

    def _wildcard(self, domain: str, form: Mapping[str, Any]) -> Wildcard:
        at = f"{form['at']}.{domain}" if "at" in form else domain
        cnames = tuple(self._target("parked") for _ in range(form.get("aliases", 0)))
        pool = tuple(self._address() for _ in range(form["pool"]))
        per_name = bool(form.get("per_name", False))
        return Wildcard(at, cnames, pool, int(form.get("width", len(pool))), per_name)

    def _nested(self, domain: str, card: Wildcard) -> tuple[Wildcard, ...]:
        """Wildcards of other forms below the zone's own, so many that ``levels`` is met."""
        most, rng = self._numbers.get("levels", 1), self._rng
        if most == 1 or card.at != domain:
            return ()
        made = []
        for label in rng.sample(_NESTED_AT, rng.randint(0, most - 1)):
            other = self._wildcard(domain, rng.choice(self._forms))
            like = card if rng.random() < _SAME_AS_ABOVE else other
            made.append(replace(like, at=f"{label}.{domain}"))
        return tuple(made)

    def _add_names(self, zone: Zone) -> None:
        """Give a zone its own name and those that the word list finds."""
        host = self._address()
        zone.names.append(Name(zone.domain, (), (host,)))
        rng = self._rng
        labels = rng.sample(self._labels, rng.randint(*self._numbers["names"]))
        for card in zone.wildcards:
            if card.at == zone.domain:
                continue
            level = card.at.removesuffix(f".{zone.domain}")
            inner = [label for label in self._labels if label.endswith(f".{level}")]
            labels += rng.sample(inner, min(_BELOW, len(inner)))
            if card in zone.nested and rng.random() < _NAMED_LEVEL:
                labels.append(level)
        for label in dict.fromkeys(labels):
            fqdn = f"{label}.{zone.domain}"
            zone.names.append(self._name(fqdn, host, zone.wildcard_above(fqdn)))

    def _name(self, fqdn: str, host: str, card: Wildcard | None) -> Name:
        rng, numbers = self._rng, self._numbers
        if card is not None and rng.random() < numbers["like_wildcard"]:
            return Name(fqdn, card.cnames, card.pool[: card.width])
        address = host if rng.random() < numbers["shared"] else self._address()
        alias = rng.random() < numbers["aliases"]
        return Name(fqdn, (self._target("host"),) if alias else (), (address,))

    def _address(self) -> str:
        if self._rng.random() >= self._numbers["cloud"]:
            return self._allocator.other_address()
        return self._allocator.compute_address(*self._rng.choice(self._spots))

    def _target(self, kind: str) -> str:
        self._target_count += 1
        return f"{kind}-{self._target_count}.hosting.example"
