"""Places of regions by their codes."""

from functools import lru_cache

from cartography.ranges.regions import all_regions, region


def place_name(code: str, provider: str = "") -> str:
    """Return the place of a region, such as ``N. Virginia``; empty where it is not known.

    ``code`` may hold its provider (``aws/us-east-1``). Without a provider, the place is known where
    all providers with a region of this code have it in one place.
    """
    before, _, own = code.rpartition("/")
    known = region(provider or before, own)
    return known.place if known else "" if provider or before else _by_code().get(own, "")


def region_codes() -> frozenset[str]:
    """Return the codes that have a place without their provider."""
    return frozenset(_by_code())


@lru_cache(maxsize=1)
def _by_code() -> dict[str, str]:
    places: dict[str, set[str]] = {}
    for each in all_regions():
        places.setdefault(each.code, set()).add(each.place)
    return {code: found.pop() for code, found in places.items() if len(found) == 1}
