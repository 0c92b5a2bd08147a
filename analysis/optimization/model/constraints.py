"""What a deployment must keep to goes in by name; rules by number come out for the search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from core.errors import BadInput


@dataclass(frozen=True)
class Facts:
    """What is known of a region besides its samples."""

    provider: str = ""
    country: str = ""
    continent: str = ""
    price: float | None = None


@dataclass(frozen=True)
class Presence:
    """At least so many chosen regions in these countries, continents or regions."""

    within: frozenset[str]
    at_least: int = 1


@dataclass(frozen=True)
class Constraints:
    """What every recommended set keeps to; empty fields ask for nothing.

    ``countries`` and ``continents`` are residency: all chosen regions lie in one of either.
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
    survive_loss: bool = False
    after_loss_ms: float | None = None
    after_loss_share: float = 0.0
    facts: Mapping[str, Facts] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Constraints by region number: what stands inside and outside, and what sums may be."""

    inside: tuple[int, ...]
    outside: tuple[int, ...]
    provider: tuple[int, ...]
    room: tuple[int, ...]
    price: tuple[int, ...]
    purse: int
    groups: tuple[tuple[int, ...], ...]
    needs: tuple[int, ...]

    def allow(self, chosen: tuple[int, ...]) -> bool:
        """Say whether a complete set keeps to everything."""
        held = set(chosen)
        alike = [self.provider[j] for j in chosen]
        return (
            held.issuperset(self.inside)
            and held.isdisjoint(self.outside)
            and all(alike.count(p) <= self.room[p] for p in set(alike))
            and sum(self.price[j] for j in chosen) <= self.purse
            and all(
                len(held.intersection(group)) >= need
                for group, need in zip(self.groups, self.needs, strict=True)
            )
        )


# Prices become whole numbers of this fraction, so that sums of them are exact.
PRICE_STEPS_PER_UNIT = 10_000
# A purse that nothing empties, with room to add prices to it.
NO_CEILING = 2**50


def limit(regions: tuple[str, ...], constraints: Constraints) -> Limits:
    """Give constraints by number; raises BadInput where a name or a needed fact is unknown."""
    c = constraints
    known = set(regions)
    for name in sorted((c.include | c.exclude) - known):
        raise BadInput(f"no samples of the region {name!r}", field="constraints")
    facts = [c.facts.get(name, Facts()) for name in regions]
    kinds = sorted({f.provider for f in facts})
    provider = tuple(kinds.index(f.provider) for f in facts)
    if c.per_provider is not None or c.providers:
        _demand(regions, [f.provider for f in facts], "provider")
    inside = tuple(sorted(regions.index(name) for name in c.include))
    outside = tuple(j for j, n in enumerate(regions) if n in c.exclude or _banned(c, facts[j]))
    groups = tuple(_members(regions, facts, p) for p in c.presence)
    room = len(regions) if c.per_provider is None else c.per_provider
    price, purse = _prices(regions, facts, c.price_ceiling)
    needs = tuple(p.at_least for p in c.presence)
    return Limits(inside, outside, provider, (room,) * len(kinds), price, purse, groups, needs)


def _banned(c: Constraints, fact: Facts) -> bool:
    resident = not (c.countries or c.continents) or (
        fact.country in c.countries or fact.continent in c.continents
    )
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
    # By way of text: 0.07 shall be seven hundredths, not the nearest binary fraction.
    return int((Decimal(str(price)) * PRICE_STEPS_PER_UNIT).to_integral_value())


def _demand(regions: tuple[str, ...], known: list[str], what: str) -> None:
    lacking = [name for name, value in zip(regions, known, strict=True) if not value]
    if lacking:
        raise BadInput(f"the {what} of {len(lacking)} regions is unknown: {lacking[0]!r} …")
