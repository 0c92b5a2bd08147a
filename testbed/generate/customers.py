"""Customer countries of a world's domains, drawn from published shares.

Nothing of it is in DNS; a survey of the world gets it as an import, as a real one would.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.world.model import World, Zone

Rows = list[dict[str, Any]]
# Countries that customers may come from, by continent (chosen); the first that is not the host's.
_POOL = {
    "north-america": ("US", "CA", "MX"),
    "south-america": ("BR", "AR", "CO"),
    "europe": ("GB", "DE", "FR", "ES"),
    "asia": ("IN", "JP", "CN", "ID"),
    "oceania": ("AU", "NZ"),
    "africa": ("ZA", "NG", "EG"),
}
_UNKNOWN, _HOME, _NEAR, _FAR = "unknown", "home", "near", "far"
# Weights of a domain's first and second country (chosen).
_WEIGHTS = (0.5, 0.2)


@dataclass(frozen=True, slots=True)
class CountryIndex:
    """Country by (provider, region) and continent by country."""

    countries: Mapping[tuple[str, str], str]
    continents: Mapping[str, str]


def customer_rows(world: World, shares: Mapping[str, float], atlas: CountryIndex) -> Rows:
    """Rows of the lake's ``customers``; ``shares`` are per mille of names (``known``) and of the
    known ones (``other_country``, ``other_continent``)."""
    rng = random.Random(f"{world.id}:customers")
    lived = [(zone, _countries(world, zone, atlas)) for zone in world.zones if not zone.fault]
    lived = [(zone, names) for zone, names in lived if names]
    left = _targets(sum(len(names) for _, names in lived), shares)
    rows: Rows = []
    for zone, names in sorted(lived, key=lambda pair: (-len(pair[1]), pair[0].domain)):
        kind = max(left, key=lambda k: left[k])
        country = _choose(kind, names, atlas, rng)
        for name in names:
            left[_kind_of(country, name, atlas)] -= 1
        if country:
            second = rng.choice([c for c in _POOL["africa"] if c != country])
            pairs = zip((country, second), _WEIGHTS, strict=True)
            rows += [{"domain": zone.domain, "country": c, "weight": w} for c, w in pairs]
    return rows


def _countries(world: World, zone: Zone, atlas: CountryIndex) -> list[frozenset[str]]:
    """Return the hosting countries of each findable name that is in a region."""
    found = []
    for name in zone.names:
        places = [world.place(a) for a in name.addresses] if not name.hidden else []
        spots = {(p.provider, p.region) for p in places if p.provider and p.region}
        own = frozenset(atlas.countries[s] for s in spots if s in atlas.countries)
        found += [own] if own else []
    return found


def _targets(n: int, shares: Mapping[str, float]) -> Counter[str]:
    known = round(n * shares["known"] / 1000)
    away = round(known * shares["other_country"] / 1000)
    far = round(known * shares["other_continent"] / 1000)
    return Counter({_UNKNOWN: n - known, _HOME: known - away, _NEAR: away - far, _FAR: far})


def _choose(
    kind: str, names: Sequence[frozenset[str]], atlas: CountryIndex, rng: random.Random
) -> str | None:
    """Choose a customer country that makes most names of a domain this kind."""
    if kind == _UNKNOWN:
        return None
    hosts = Counter(country for name in names for country in name)
    host = min(hosts, key=lambda c: (-hosts[c], c))
    if kind == _HOME:
        return host
    at = atlas.continents[host]
    if kind == _NEAR:
        return rng.choice([c for c in _POOL[at] if c not in hosts] or [host])
    used = {atlas.continents[c] for c in hosts}
    away = sorted(continent for continent in _POOL if continent not in used)
    return rng.choice(_POOL[rng.choice(away)]) if away else host


def _kind_of(country: str | None, name: frozenset[str], atlas: CountryIndex) -> str:
    if country is None:
        return _UNKNOWN
    if country in name:
        return _HOME
    continents = {atlas.continents[c] for c in name}
    return _NEAR if atlas.continents[country] in continents else _FAR
