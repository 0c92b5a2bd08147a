"""Internet users and largest cities by country, as default client weights.

Round figures from ``fixtures/people.toml``.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from analysis.deployment.countries import continents, region_places
from analysis.impact.assignment import Floats
from analysis.impact.distances import great_circle_km, points_of
from analysis.impact.places import Client, Point, Region
from core.paths import FIXTURES

# What customers cannot simply order, by words in names and codes: governments, stages of tests,
# and regions of separate companies, which need separate accounts.
_CLOSED_CODES = ("us-gov-", "usgov", "usdod", "cn-", "china")
_CLOSED_ENDS = ("euap", "stg", "germanycentral", "germanynortheast")


@dataclass(frozen=True, slots=True)
class CountryUsers:
    """A country's largest cities, and its people on the Internet in millions."""

    users: float
    at: tuple[Point, ...]


@lru_cache(maxsize=1)
def country_users() -> dict[str, CountryUsers]:
    """Return every listed country by its code."""
    document = tomllib.loads((FIXTURES / "people.toml").read_text(encoding="utf-8"))
    return {
        code: CountryUsers(float(row["users"]), tuple((a, b) for a, b in row["at"]))
        for part in document.values()
        for code, row in part.items()
    }


def users() -> dict[str, float]:
    """Return millions of people on the Internet by country."""
    return {code: land.users for code, land in country_users().items()}


def cities_of(weights: dict[str, float]) -> dict[str, Client]:
    """Return a client per large city of these countries, which share their country's weight."""
    found = {}
    for code, weight in weights.items():
        places = country_users()[code].at
        home = continents().get(code, "")
        for number, at in enumerate(places, 1):
            name = code if len(places) == 1 else f"{code}-{number}"
            found[name] = Client(code, home, at, weight / len(places))
    return found


def nearest_country(at: Point) -> str:
    """Return the country of the nearest listed city."""
    codes, cities = _listed_cities()
    return codes[int(np.argmin(great_circle_km(points_of([at]), cities)))]


@lru_cache(maxsize=1)
def _listed_cities() -> tuple[list[str], Floats]:
    """Return all listed cities: the country of each, and rows of latitude and longitude."""
    pairs = [(code, at) for code, people in country_users().items() for at in people.at]
    return [code for code, _ in pairs], points_of([at for _, at in pairs])


def open_regions() -> dict[str, Region]:
    """Return every listed region that anyone may use and with a known place."""
    found = {}
    for (provider, code), (country, at) in region_places().items():
        closed = code.startswith(_CLOSED_CODES) or code.endswith(_CLOSED_ENDS)
        if at is not None and not closed:
            home = continents().get(country, "")
            found[f"{provider}/{code}"] = Region(provider, country, home, at)
    return found
