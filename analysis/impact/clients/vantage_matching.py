"""Match clients with vantage points: which clients are measured, and from where.

A client is measured where a vantage point is in its very country, city or network. A city or
network without one is measured by the others of its country: by the nearest where both places are
known, by all of them otherwise. A client of a country without vantage points is modelled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from analysis.impact.clients.client_keys import ClientKey, read_key
from analysis.impact.clients.client_places import CityPoints, find_city
from analysis.impact.distances import great_circle_km, points_of
from analysis.impact.internet_users import country_users
from analysis.impact.places import Point


class Basis(StrEnum):
    """What the round trips of a client rest on."""

    MEASURED = "measured"
    COUNTRY = "measured-in-country"
    MODELLED = "modelled"
    NONE = "left-out"


@dataclass(frozen=True, slots=True)
class VantageFacts:
    """Where a vantage point is."""

    country: str
    city: str = ""
    asn: int | None = None
    at: Point | None = None


@dataclass(frozen=True, slots=True)
class ClientBasis:
    """A client with the basis of its round trips; ``km`` is the distance to its vantage point."""

    client: str
    weight: float
    basis: Basis
    vantages: int = 0
    km: float | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """Weight by vantage point, and every client with its basis."""

    weights: dict[str, float] = field(default_factory=dict)
    clients: list[ClientBasis] = field(default_factory=list)

    def away(self) -> dict[str, float]:
        """Return weights of clients that were not measured and can be modelled."""
        return {c.client: c.weight for c in self.clients if c.basis is Basis.MODELLED}


def match_clients(
    weights: Mapping[str, float], vantages: Mapping[str, VantageFacts], cities: CityPoints
) -> Matched:
    """Distribute the weight of each client evenly over the vantage points that measure it."""
    by_country: dict[str, list[str]] = {}
    for name, facts in vantages.items():
        by_country.setdefault(facts.country, []).append(name)
    found = Matched()
    for client, weight in weights.items():
        key = read_key(client)
        names = by_country.get(key.country, [])
        if not names:
            found.clients.append(ClientBasis(client, weight, unmeasured_basis(client, cities)))
            continue
        basis, chosen, km = _choose(key, names, vantages, cities)
        found.clients.append(ClientBasis(client, weight, basis, len(chosen), km))
        for name in chosen:
            found.weights[name] = found.weights.get(name, 0.0) + weight / len(chosen)
    return found


def unmeasured_basis(client: str, cities: CityPoints) -> Basis:
    """Return whether a client without vantage points has a place for the model."""
    is_placed = client.partition("/")[0] in country_users() or find_city(client, cities)
    return Basis.MODELLED if is_placed else Basis.NONE


def _choose(
    key: ClientKey, names: Sequence[str], vantages: Mapping[str, VantageFacts], cities: CityPoints
) -> tuple[Basis, Sequence[str], float | None]:
    if not key.city and key.asn is None:
        return Basis.MEASURED, names, None
    city = key.city.casefold()
    own = [
        name
        for name in names
        if (vantages[name].asn == key.asn if key.asn else vantages[name].city.casefold() == city)
    ]
    if own:
        return Basis.MEASURED, own, None
    at = find_city(str(key), cities)
    placed = [name for name in names if vantages[name].at]
    if at is None or not placed:
        return Basis.COUNTRY, names, None
    km = great_circle_km(points_of([at]), points_of([vantages[name].at for name in placed]))[0]
    nearest = int(np.argmin(km))
    return Basis.COUNTRY, [placed[nearest]], round(float(km[nearest]), 1)


def describe_basis(clients: Sequence[ClientBasis], max_listed: int) -> dict[str, Any]:
    """Return the share of weight by basis, and the heaviest clients, as a JSON document."""
    total = sum(client.weight for client in clients) or 1.0
    shares = dict.fromkeys((str(basis) for basis in Basis), 0.0)
    for client in clients:
        shares[str(client.basis)] += client.weight / total
    heaviest = sorted(clients, key=lambda client: (-client.weight, client.client))[:max_listed]
    return {
        "shares": shares,
        "n_clients": len(clients),
        "clients": [
            {**asdict(c), "basis": str(c.basis), "share": c.weight / total} for c in heaviest
        ],
    }
