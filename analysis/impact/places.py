"""Attributes of regions and clients: provider, country, continent, coordinates.

Listed regions need no table; an uploaded table adds to the list and takes precedence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from analysis.deployment.countries import continents, region_places
from analysis.impact.csv_tables import Row, read_rows
from analysis.optimization import Facts
from core.errors import BadInput

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Region:
    """What is known of a region; ``zones`` is how many availability zones a deployment uses."""

    provider: str = ""
    country: str = ""
    continent: str = ""
    at: Point | None = None
    price: float | None = None
    zones: int | None = None
    availability: float | None = None

    def facts(self) -> Facts:
        """Return what the choice of regions needs of it."""
        return Facts(self.provider, self.country, self.continent, self.price, self.zones)


@dataclass(frozen=True, slots=True)
class Client:
    """What is known of a client, or of a population without samples."""

    country: str = ""
    continent: str = ""
    at: Point | None = None
    weight: float = 1.0


REGION_COLUMNS = (
    "provider",
    "country",
    "continent",
    "latitude",
    "longitude",
    "price",
    "zones",
    "availability",
)
CLIENT_COLUMNS = ("country", "continent", "latitude", "longitude")


def describe_regions(names: Iterable[str], brought: Mapping[str, Region]) -> dict[str, Region]:
    """Return what is known of each region, from the brought table first, then the project's
    list."""
    listed = _listed()
    found = {}
    for name in names:
        own, given = listed.get(name.lower(), Region()), brought.get(name, Region())
        known = {f.name: value for f in fields(given) if (value := getattr(given, f.name))}
        region = replace(own, **known)
        home = region.continent or continents().get(region.country, "")
        found[name] = replace(region, continent=home)
    return found


def read_regions(data: bytes) -> dict[str, Region]:
    """Read a CSV of regions; raise BadInput naming the line or column."""
    rows = read_rows(data, "regions", ("region",), REGION_COLUMNS)
    return {name: _region(row) for name, row in _unique_rows(rows, "region")}


def read_clients(data: bytes) -> dict[str, Client]:
    """Read a CSV of clients and their countries or places; raise BadInput naming the line."""
    rows = read_rows(data, "clients", ("client",), CLIENT_COLUMNS)
    return {name: _client(row) for name, row in _unique_rows(rows, "client")}


def read_populations(data: bytes) -> dict[str, Client]:
    """Read a CSV of clients without samples, each with its place; raise BadInput."""
    needed, allowed = ("population", "latitude", "longitude"), ("country", "continent", "weight")
    rows = read_rows(data, "populations", needed, allowed)
    found = {name: _client(row) for name, row in _unique_rows(rows, "population")}
    for row in rows:
        row.need("latitude")
    if not any(client.weight for client in found.values()):
        raise BadInput("populations: one weight at least must be above 0")
    return found


def _unique_rows(rows: list[Row], column: str) -> Iterable[tuple[str, Row]]:
    seen: set[str] = set()
    for row in rows:
        name = row.need(column)
        if name in seen:
            raise BadInput(f"{row.table}: {name!r} is listed twice", line=row.line)
        seen.add(name)
        yield name, row


def _region(row: Row) -> Region:
    zones = row.number("zones", 1, 20, whole=True)
    return Region(
        provider=row.text("provider").lower(),
        country=_country(row),
        continent=row.text("continent").lower(),
        at=_point(row),
        price=row.number("price"),
        zones=None if zones is None else int(zones),
        availability=row.number("availability", 0.0, 1.0),
    )


def _client(row: Row) -> Client:
    country, weight = _country(row), row.number("weight")
    continent = row.text("continent").lower() or continents().get(country, "")
    return Client(country, continent, _point(row), 1.0 if weight is None else weight)


def _country(row: Row) -> str:
    code = row.text("country").upper()
    if code and not (len(code) == 2 and code.isascii() and code.isalpha()):
        raise BadInput(f"{row.table}: {code!r} is not a country code of two letters", line=row.line)
    return code


def _point(row: Row) -> Point | None:
    latitude = row.number("latitude", -90, 90)
    longitude = row.number("longitude", -180, 180)
    if (latitude is None) != (longitude is None):
        raise BadInput(f"{row.table}: latitude and longitude go together", line=row.line)
    return None if latitude is None or longitude is None else (latitude, longitude)


def _listed() -> dict[str, Region]:
    """Return listed regions by ``provider/code`` and ``provider:code``, and by code where
    unique."""
    found: dict[str, Region] = {}
    bare: dict[str, list[Region]] = {}
    for (provider, code), (country, at) in region_places().items():
        region = Region(provider=provider, country=country, at=at)
        found |= {f"{provider}/{code}": region, f"{provider}:{code}": region}
        bare.setdefault(code.lower(), []).append(region)
    # A code that two providers use is ambiguous.
    return found | {code: same[0] for code, same in bare.items() if len(same) == 1}
