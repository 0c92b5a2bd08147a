"""The region catalogue: code to place, country and coordinates."""

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CATALOGUE_PATH = Path(__file__).resolve().parent.parent / "fixtures" / "regions.csv"


@dataclass(frozen=True, slots=True)
class Region:
    """One region; coordinates in degrees, those of the metropolitan area."""

    provider: str
    code: str
    place: str
    country: str
    latitude: float
    longitude: float


@lru_cache(maxsize=1)
def _catalogue() -> dict[tuple[str, str], Region]:
    lines = [s for s in CATALOGUE_PATH.read_text().splitlines() if not s.startswith("#")]
    rows = csv.DictReader(lines)
    regions = [
        Region(
            provider=row["provider"],
            code=row["code"],
            place=row["place"],
            country=row["country"],
            latitude=float(row["latitude"]),
            longitude=float(row["longitude"]),
        )
        for row in rows
    ]
    return {(r.provider, r.code): r for r in regions}


def region(provider: str, code: str) -> Region | None:
    """One region, or ``None`` when the catalogue does not know it."""
    return _catalogue().get((provider, code))


def all_regions(provider: str | None = None) -> tuple[Region, ...]:
    """Every region, or those of one provider, in catalogue order."""
    return tuple(r for r in _catalogue().values() if provider in (None, r.provider))
