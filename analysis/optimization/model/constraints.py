"""Side constraints of a deployment, by region name and by region number."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from core.errors import BadInput


@dataclass(frozen=True)
class Facts:
    """Attributes of a region that constraints refer to."""

    provider: str = ""
    country: str = ""
    continent: str = ""
    price: float | None = None
    zones: int | None = None
    isps: int | None = None
    carbon_g_per_kwh: float | None = None


@dataclass(frozen=True)
class Presence:
    """A minimum number of chosen regions in these countries, continents or regions."""

    within: frozenset[str]
    at_least: int = 1


@dataclass(frozen=True)
class Constraints:
    """Side constraints of every recommended set; empty fields do not constrain.

    ``countries`` and ``continents`` are residency: all chosen regions lie in one of either.
    Each chosen region has ``min_zones`` availability zones and ``min_isps`` downstream ISPs, or
    more, and electricity of at most ``max_carbon`` g per kWh.
    ``price_ceiling`` holds for the sum of the chosen regions' prices. Whichever chosen region is
    lost, at most ``after_loss_share`` of all weight is then above ``after_loss_ms``, or unanswered.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    per_provider: int | None = None
    countries: frozenset[str] = frozenset()
    continents: frozenset[str] = frozenset()
    presence: tuple[Presence, ...] = ()
    price_ceiling: float | None = None
    min_zones: int | None = None
    min_isps: int | None = None
    max_carbon: float | None = None
    survive_loss: bool = False
    after_loss_ms: float | None = None
    after_loss_share: float = 0.0
    facts: Mapping[str, Facts] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Constraints by region number: fixed and excluded regions, provider capacities, price budget,
    and the required members (``needs``) of each group."""

    inside: tuple[int, ...]
    outside: tuple[int, ...]
    provider: tuple[int, ...]
    capacity: tuple[int, ...]
    price: tuple[int, ...]
    budget: int
    groups: tuple[tuple[int, ...], ...]
    needs: tuple[int, ...]

    def allow(self, chosen: tuple[int, ...]) -> bool:
        """Return whether a complete set satisfies all constraints."""
        held = set(chosen)
        alike = [self.provider[j] for j in chosen]
        return (
            held.issuperset(self.inside)
            and held.isdisjoint(self.outside)
            and all(alike.count(p) <= self.capacity[p] for p in set(alike))
            and sum(self.price[j] for j in chosen) <= self.budget
            and all(
                len(held.intersection(group)) >= need
                for group, need in zip(self.groups, self.needs, strict=True)
            )
        )


# Prices are scaled to integers, so that their sums are exact.
PRICE_STEPS_PER_UNIT = 10_000
# An unlimited budget that does not overflow when prices are added.
NO_CEILING = 2**50


def limit(regions: tuple[str, ...], constraints: Constraints) -> Limits:
    """Return constraints by region number; raise BadInput on an unknown name or attribute."""
    c = constraints
    known = set(regions)
    for name in sorted((c.include | c.exclude) - known):
        raise BadInput(f"no samples of the region {name!r}", field="constraints")
    facts = [c.facts.get(name, Facts()) for name in regions]
    kinds = sorted({f.provider for f in facts})
    provider = tuple(kinds.index(f.provider) for f in facts)
    if c.per_provider is not None or c.providers:
        _demand(regions, [f.provider for f in facts], "provider")
    if c.min_zones is not None:
        _demand(regions, ["" if f.zones is None else "known" for f in facts], "number of zones")
    if c.min_isps is not None:
        _demand(regions, ["" if f.isps is None else "known" for f in facts], "number of ISPs")
    if c.max_carbon is not None:
        carbon = ["" if f.carbon_g_per_kwh is None else "known" for f in facts]
        _demand(regions, carbon, "carbon intensity")
    inside = tuple(sorted(regions.index(name) for name in c.include))
    outside = tuple(j for j, n in enumerate(regions) if n in c.exclude or _banned(c, facts[j]))
    groups = tuple(_members(regions, facts, p) for p in c.presence)
    capacity = len(regions) if c.per_provider is None else c.per_provider
    price, budget = _prices(regions, facts, c.price_ceiling)
    needs = tuple(p.at_least for p in c.presence)
    return Limits(inside, outside, provider, (capacity,) * len(kinds), price, budget, groups, needs)


def _banned(c: Constraints, fact: Facts) -> bool:
    resident = not (c.countries or c.continents) or (
        fact.country in c.countries or fact.continent in c.continents
    )
    if c.min_zones is not None and (fact.zones or 0) < c.min_zones:
        return True
    if c.min_isps is not None and (fact.isps or 0) < c.min_isps:
        return True
    if c.max_carbon is not None and (fact.carbon_g_per_kwh or 0.0) > c.max_carbon:
        return True
    return not resident or bool(c.providers and fact.provider not in c.providers)


def _members(regions: tuple[str, ...], facts: list[Facts], presence: Presence) -> tuple[int, ...]:
    return tuple(
        j
        for j, (name, fact) in enumerate(zip(regions, facts, strict=True))
        if presence.within & {name, fact.country, fact.continent, fact.provider} - {""}
    )


def _prices(
    regions: tuple[str, ...], facts: list[Facts], ceiling: float | None
) -> tuple[tuple[int, ...], int]:
    if ceiling is None:
        return (0,) * len(regions), NO_CEILING
    _demand(regions, ["" if f.price is None else "priced" for f in facts], "price")
    steps = tuple(_steps(f.price or 0.0) for f in facts)
    if min(steps) < 0 or not np.isfinite(ceiling):
        raise BadInput("prices must not be negative", field="price_ceiling")
    return steps, _steps(ceiling)


def _steps(price: float) -> int:
    # Via text: 0.07 is seven hundredths, not the nearest binary fraction.
    return int((Decimal(str(price)) * PRICE_STEPS_PER_UNIT).to_integral_value())


def _demand(regions: tuple[str, ...], known: list[str], what: str) -> None:
    lacking = [name for name, value in zip(regions, known, strict=True) if not value]
    if lacking:
        raise BadInput(f"the {what} of {len(lacking)} regions is unknown: {lacking[0]!r} …")
