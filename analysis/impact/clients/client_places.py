"""Places of clients that were not measured, for a model of round trips."""

from collections.abc import Mapping
from dataclasses import replace

from analysis.deployment.countries import continents
from analysis.impact.clients.client_keys import country_of
from analysis.impact.internet_users import cities_of, country_users
from analysis.impact.places import Client, Point


def client_places(
    weights: Mapping[str, float], cities: Mapping[tuple[str, str], Point]
) -> dict[str, Client]:
    """Return a client per city; a network, and a city without known coordinates, is in the largest
    cities of its country. Countries without a listed city are left out."""
    found: dict[str, Client] = {}
    for key, weight in weights.items():
        country, _, rest = key.partition("/")
        at = cities.get((country, rest))
        if at is not None:
            found[key] = Client(country, continents().get(country, ""), at, weight)
        elif country in country_users():
            for name, client in cities_of({country: weight}).items():
                known = found.get(name)
                more = known.weight if known else 0.0
                found[name] = replace(client, weight=client.weight + more)
    return found


def unlisted_countries(weights: Mapping[str, float]) -> list[str]:
    """Return countries of clients that have no listed city."""
    return sorted({country_of(key) for key in weights} - set(country_users()))
