"""Places of regions, and names of countries and continents, by their codes."""

from functools import lru_cache

from analysis.deployment import countries
from cartography.ranges.regions import all_regions, region

# As vantage points name them.
_CONTINENTS = {
    "AF": "Africa",
    "AN": "Antarctica",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}


def place_name(code: str, provider: str = "") -> str:
    """Return the place of a region, such as ``N. Virginia``; empty where it is not known.

    ``code`` may hold its provider (``aws/us-east-1``). Without a provider, the place is known where
    all providers with a region of this code have it in one place.
    """
    before, _, own = code.rpartition("/")
    known = region(provider or before, own)
    return known.place if known else "" if provider or before else _by_code().get(own, "")


def country_name(code: str | None) -> str:
    """Return the English name of a country; the code of an unlisted one, "unknown" without one."""
    return countries.country_name(code) if code else "unknown"


def continent_name(code: str) -> str:
    """Return ``North America`` for ``NA`` or ``north-america``."""
    return _CONTINENTS.get(code) or code.replace("-", " ").title()


def region_codes() -> frozenset[str]:
    """Return the codes that have a place without their provider."""
    return frozenset(_by_code())


@lru_cache(maxsize=1)
def _by_code() -> dict[str, str]:
    places: dict[str, set[str]] = {}
    for each in all_regions():
        places.setdefault(each.code, set()).add(each.place)
    return {code: found.pop() for code, found in places.items() if len(found) == 1}
