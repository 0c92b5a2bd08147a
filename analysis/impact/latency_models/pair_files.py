"""Read published matrices of round trips between places, one pair a row.

WonderNetwork-like pings between cities, RIPE Atlas-like means between countries, and any CSV with
the columns source, destination and a round trip in ms.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.deployment.countries import continents
from analysis.impact.csv_tables import read_published_rows
from analysis.impact.internet_users import country_users, nearest_country
from analysis.impact.latency_models.pair_matrices import Pairs
from analysis.impact.places import Client, Point, Region, describe_regions
from core.errors import BadInput

# Names of columns in published files, the first that a file has is read.
_PAIR_COLUMNS = {
    "source": ("source", "client", "from", "cty1"),
    "destination": ("destination", "region", "to", "cty2"),
    "rtt": ("rtt_ms", "rtt_avg_ms", "rtt_avg", "value"),
}
_PLACE_COLUMNS = {
    "place": ("place", "city", "name", "client"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "long", "lon", "lng"),
}
# A round trip on Earth by any path; longer values are time-outs, or no milliseconds.
MAX_RTT_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class PairFile:
    """The pairs of a file, and the names in it with unknown places."""

    pairs: Pairs
    unknown: tuple[str, ...]


def read_places(stream: Iterable[str]) -> dict[str, Point]:
    """Read a CSV of places with latitude and longitude; raise BadInput naming the line."""
    found: dict[str, Point] = {}
    for row in read_published_rows(stream, "places", _PLACE_COLUMNS):
        latitude, longitude = row.number("latitude", -90, 90), row.number("longitude", -180, 180)
        if latitude is None or longitude is None:
            raise BadInput("places: latitude and longitude are needed", line=row.line)
        found[row.need("place")] = latitude, longitude
    return found


def read_latency_pairs(
    stream: Iterable[str], places: Mapping[str, Point], table: str = "pairs"
) -> PairFile:
    """Read pairs; a name is a given place, a listed region or a country code of two letters.

    A pair without a round trip is left out, and one that is there twice counts by its mean. Raise
    BadInput naming the line, or where no place is known at all.
    """
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for row in read_published_rows(stream, table, _PAIR_COLUMNS):
        source, destination = row.need("source"), row.need("destination")
        rtt_ms = row.number("rtt", 0.0, MAX_RTT_MS)
        if rtt_ms is not None and source != destination:
            total, n = sums.get((source, destination), (0.0, 0))
            sums[source, destination] = total + rtt_ms, n + 1
    names = {name for pair in sums for name in pair}
    known = _find_places(names, places)
    if not known:
        raise BadInput(f"{table}: no place is known; give a file of places with coordinates")
    pairs = {pair: total / n for pair, (total, n) in sums.items() if known.keys() >= set(pair)}
    return PairFile(_matrix(pairs, known), tuple(sorted(names - known.keys())))


def _find_places(names: Iterable[str], places: Mapping[str, Point]) -> dict[str, Point]:
    listed = describe_regions(names, {})
    found = {name: region.at for name, region in listed.items() if region.at is not None}
    countries = country_users()
    found |= {name: countries[name].at[0] for name in names if name in countries}
    return found | {name: places[name] for name in names if name in places}


def _matrix(pairs: Mapping[tuple[str, str], float], known: Mapping[str, Point]) -> Pairs:
    sources = sorted({source for source, _ in pairs})
    targets = sorted({target for _, target in pairs})
    row = {name: i for i, name in enumerate(sources)}
    column = {name: j for j, name in enumerate(targets)}
    rtt_ms = np.full((len(sources), len(targets)), np.nan)
    for (source, target), value in pairs.items():
        rtt_ms[row[source], column[target]] = value
    return Pairs(
        tuple(place_client(known[name]) for name in sources),
        tuple(_place_region(known[name]) for name in targets),
        rtt_ms,
    )


def place_client(at: Point) -> Client:
    """Return a client at a place, with the country and the continent of the nearest city."""
    country = nearest_country(at)
    return Client(country, continents().get(country, ""), at)


def _place_region(at: Point) -> Region:
    client = place_client(at)
    return Region(country=client.country, continent=client.continent, at=at)
