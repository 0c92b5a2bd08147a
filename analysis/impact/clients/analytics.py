"""Parse tables of countries or cities that analytics products export: CSV with a head.

Google Analytics, Plausible, Matomo, Cloudflare and the like: the columns are known by name. Errors
name the line.
"""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from analysis.impact.clients.client_keys import LAST_ASN, MAX_CITY, ClientKey, read_country
from core.errors import BadInput

# Names of columns, the better first; compared without case, with "_" as a space.
_COUNTRIES = (
    "metadata code",
    "country code",
    "countrycode",
    "metadata country",
    "country id",
    "country",
    "country/region",
    "country name",
    "clientcountryname",
    "label",
    "name",
    "location",
)
_CITIES = ("city", "town/city", "city name", "metadata city name", "metadata city")
_NETWORKS = ("asn", "as number", "clientasn", "network")
_WEIGHTS = (
    "active users",
    "unique visitors",
    "nb uniq visitors",
    "visitors",
    "users",
    "total users",
    "visits",
    "nb visits",
    "sessions",
    "requests",
    "edge requests",
    "page views",
    "pageviews",
    "views",
    "hits",
    "count",
    "clients",
    "weight",
)
# What products write for clients that they could not place.
_UNPLACED = frozenset(
    {"", "(not set)", "not set", "unknown", "(other)", "other", "others", "xx", "zz", "t1", "-"}
    | {"anonymous proxy", "satellite provider", "tor", "grand total", "total"}
)
MAX_LINES = 200_000
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


@dataclass(frozen=True, slots=True)
class AnalyticsTable:
    """Weights by client, the column that they were read from, and the weight without a place."""

    weights: dict[str, float]
    column: str
    unplaced: float


@dataclass(frozen=True, slots=True)
class _Columns:
    country: int
    city: int | None
    network: int | None
    weight: int
    name: str


def is_analytics(data: bytes) -> bool:
    """Return whether bytes hold a head with a column of countries or cities and one of numbers."""
    head = _head(_decode(data, errors="replace")[:65536])
    if head is None:
        return False
    names = _names(head[1])
    is_placed = any(name in _COUNTRIES or name in _CITIES for name in names)
    return is_placed and any(name in _WEIGHTS for name in names)


def read_analytics(data: bytes) -> AnalyticsTable:
    """Parse a table; raise ``BadInput`` naming the line and what to do."""
    text = _decode(data)
    head = _head(text)
    if head is None:
        raise BadInput("the table has no head with names of columns", field="audience_file")
    columns = _columns(head[1], head[0])
    weights: dict[str, float] = {}
    unplaced = 0.0
    for line, cells in _rows(text, head[0], head[2]):
        weight = _number(_cell(cells, columns.weight), line)
        key = _key(cells, columns, line)
        if key is None:
            unplaced += weight
        else:
            weights[str(key)] = weights.get(str(key), 0.0) + weight
    if not any(weights.values()):
        raise BadInput("no country of the table has a number above 0", line=head[0])
    found = {key: weight for key, weight in weights.items() if weight}
    return AnalyticsTable(found, columns.name, unplaced)


def _decode(data: bytes, errors: str = "strict") -> str:
    encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput("it is neither UTF-8 nor UTF-16 text", line=line) from error


def _head(text: str) -> tuple[int, list[str], str] | None:
    """Return number, cells and delimiter of the first line that is no comment."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            delimiter = max(",;\t", key=line.count)
            return number, next(csv.reader([line], delimiter=delimiter)), delimiter
    return None


def _names(head: list[str]) -> list[str]:
    return [" ".join(cell.replace("_", " ").split()).casefold() for cell in head]


def _columns(head: list[str], line: int) -> _Columns:
    names = _names(head)
    countries = [names.index(name) for name in _COUNTRIES if name in names]
    cities = [names.index(name) for name in _CITIES if name in names]
    weights = [names.index(name) for name in _WEIGHTS if name in names]
    if not countries:
        more = ": the name of a city alone is not unique" if cities else ""
        raise BadInput(f"the table needs a column country{more}", line=line)
    if not weights:
        raise BadInput(
            f"no column of numbers is known among {', '.join(head)[:200]}; name one of them users,"
            " visitors, visits, sessions or requests",
            line=line,
        )
    city = cities[0] if cities else None
    network = next((names.index(name) for name in _NETWORKS if name in names), None)
    return _Columns(countries[0], city, network, weights[0], head[weights[0]].strip())


def _rows(text: str, head: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of the rows up to the first empty line, where a table ends."""
    lines = text.splitlines()[head:]
    for number, line in enumerate(lines, head + 1):
        if not line.strip():
            return
        if number - head > MAX_LINES:
            raise BadInput(f"the table has more than {MAX_LINES:,} rows", line=number)
        if line.startswith("#"):
            continue
        try:
            yield number, next(csv.reader(io.StringIO(line), delimiter=delimiter))
        except csv.Error as error:
            raise BadInput(f"this line cannot be read: {error}", line=number) from error


def _number(text: str, line: int) -> float:
    plain = text.strip().replace(",", "").replace("\u202f", "").replace("\xa0", "").rstrip("%")
    try:
        value = float(plain or "0")
    except ValueError as error:
        raise BadInput(f"{text[:40]!r} is not a number", line=line) from error
    if not math.isfinite(value) or value < 0:
        raise BadInput(f"{text[:40]!r} is not a number from 0 up", line=line)
    return value


def _key(cells: list[str], columns: _Columns, line: int) -> ClientKey | None:
    text = _cell(cells, columns.country)
    if text.casefold() in _UNPLACED:
        return None
    country = read_country(text)
    if country is None:
        raise BadInput(
            f"{text[:60]!r} is not a known country, by its code or English name", line=line
        )
    network, city = _cell(cells, columns.network), _cell(cells, columns.city)
    if network.casefold() not in _UNPLACED:
        number = network.upper().removeprefix("AS").strip()
        if not number.isascii() or not number.isdecimal() or not 0 < int(number) <= LAST_ASN:
            raise BadInput(f"{network[:40]!r} is not an AS number", line=line)
        return ClientKey(country, asn=int(number))
    city = "".join(sign for sign in city if sign.isprintable())[:MAX_CITY].strip()
    return ClientKey(country, "" if city.casefold() in _UNPLACED else city)


def _cell(cells: list[str], column: int | None) -> str:
    return cells[column].strip() if column is not None and column < len(cells) else ""
