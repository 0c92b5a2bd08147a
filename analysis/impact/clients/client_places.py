"""Places of clients that were not measured, for a model of round trips."""

from collections.abc import Mapping

from analysis.deployment.countries import continents
from analysis.impact.internet_users import cities_of, country_users
from analysis.impact.places import Client, Point

# Coordinates by country and city; the city in folded case.
CityPoints = Mapping[tuple[str, str], Point]


def find_city(key: str, cities: CityPoints) -> Point | None:
    """Return the coordinates of a client that is a city; ``None`` for any other."""
    country, _, city = key.partition("/")
    return cities.get((country, city.casefold())) if city else None


def client_places(weights: Mapping[str, float], cities: CityPoints) -> dict[str, Client]:
    """Return a client per city.

    A network, and a city without known coordinates, is in the largest cities of its country.
    Countries without a listed city are left out.
    """
    found: dict[str, Client] = {}
    spread: dict[str, float] = {}
    for key, weight in weights.items():
        country = key.partition("/")[0]
        at = find_city(key, cities)
        if at is not None:
            found[key] = Client(country, continents().get(country, ""), at, weight)
        elif country in country_users():
            spread[country] = spread.get(country, 0.0) + weight
    return found | cities_of(spread)
