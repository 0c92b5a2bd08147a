"""The region catalogue: from a provider's code to place, country and coordinates."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from core.paths import FIXTURES

CATALOGUE_PATH = FIXTURES / "regions.toml"
# Published in place of a region for addresses that belong to none.
NOT_A_PLACE = frozenset({"GLOBAL", "global"})


@dataclass(frozen=True, slots=True)
class Region:
    """One region; coordinates in degrees, those of the metropolitan area.

    ``since`` is the year in which it opened, ``None`` where that is not certain.
    """

    provider: str
    code: str
    place: str
    country: str
    latitude: float
    longitude: float
    since: int | None = None


@lru_cache(maxsize=1)
def _catalogue() -> dict[tuple[str, str], Region]:
    document = tomllib.loads(CATALOGUE_PATH.read_text(encoding="utf-8"))
    regions = [
        Region(
            provider=provider,
            code=code,
            place=row["place"],
            country=row["country"],
            latitude=row["at"][0],
            longitude=row["at"][1],
            since=row.get("since"),
        )
        for provider, rows in document.items()
        for code, row in rows.items()
    ]
    return {(r.provider, r.code): r for r in regions}


def region(provider: str, code: str) -> Region | None:
    """One region, or ``None`` when the catalogue does not know it."""
    return _catalogue().get((provider, code))


def all_regions(provider: str | None = None) -> tuple[Region, ...]:
    """Every region, or those of one provider, in catalogue order."""
    return tuple(r for r in _catalogue().values() if provider in (None, r.provider))
