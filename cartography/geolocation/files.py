"""Parse files that give the country and city of addresses.

Geofeeds (RFC 8805), and tables of ranges as DB-IP, IP2Location, iptoasn and ip-location-db publish
them; plain or gzip, with commas or tabs. Errors name the line.
"""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from cartography.addresses.prefixes import pack_address, read_prefix
from core.errors import BadInput
from core.files import unpack

# A table of cities of the whole world has some hundred megabytes.
MAX_FILE_BYTES = 1024 * 1024 * 1024
MAX_NAME = 80
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A country by its ISO 3166-1 code, and a city of it where the file names one."""

    country: str
    city: str = ""
    at: Point | None = None


@dataclass(frozen=True, slots=True)
class PlaceFile:
    """Prefixes, which nest, or ranges, which do not; each with the index of its place.

    A prefix is (family, first, length, place), a range (family, first, last, place).
    """

    places: tuple[Place, ...]
    prefixes: tuple[tuple[int, int, int, int], ...] = ()
    ranges: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which column of a row holds what; -1 for a column that the form does not have."""

    country: int
    city: int = -1
    latitude: int = -1
    longitude: int = -1


_GEOFEED = _Layout(country=1, city=3)
# Tables of ranges by their number of columns: first address, last address, and so on.
_RANGES = {
    3: _Layout(country=2),
    4: _Layout(country=2),
    8: _Layout(country=3, city=5, latitude=6, longitude=7),
    10: _Layout(country=2, city=5, latitude=7, longitude=8),
}
# What such files write where they know no country.
_NOWHERE = frozenset({"", "-", "ZZ", "None"})


def read_places(data: bytes) -> PlaceFile:
    """Parse a file; raise ``BadInput`` naming the line."""
    text = _decode(unpack(data, MAX_FILE_BYTES))
    places: dict[Place, int] = {}
    prefixes, ranges = [], []
    for line, cells in _rows(text):
        layout = _layout(cells, line)
        place = _place(cells, layout, line)
        if place is None:
            continue
        number = places.setdefault(place, len(places))
        if layout is _GEOFEED:
            prefixes.append((*_prefix(cells[0], line), number))
        else:
            ranges.append((*_range(cells[0], cells[1], line), number))
    if not places:
        raise BadInput("the file places no address in a country")
    if prefixes and ranges:
        raise BadInput("the file holds prefixes and ranges; import two files")
    return PlaceFile(tuple(places), tuple(prefixes), tuple(ranges))


def _decode(plain: bytes) -> str:
    try:
        return plain.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = plain.count(b"\n", 0, error.start) + 1
        raise BadInput("it is not UTF-8 text", line=line) from error


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    head = next((line for line in text.splitlines() if line and line[0] != "#"), "")
    lines = io.StringIO(text, newline="")
    rows = csv.reader(lines, delimiter="\t" if "\t" in head else ",")
    try:
        for cells in rows:
            if cells and not cells[0].startswith("#"):
                yield rows.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise BadInput(f"it cannot be read: {error}", line=rows.line_num) from error


def _layout(cells: list[str], line: int) -> _Layout:
    if "/" in cells[0]:
        if len(cells) > 1:
            return _GEOFEED
    elif len(cells) in _RANGES:
        return _RANGES[len(cells)]
    raise BadInput(
        f"it has {len(cells)} columns; a geofeed has a prefix, country, region and city, a table "
        "of ranges first and last address and country, or 8 or 10 columns with a city",
        line=line,
    )


def _place(cells: list[str], layout: _Layout, line: int) -> Place | None:
    country = cells[layout.country]
    if country in _NOWHERE:
        return None
    if len(country) != 2 or not country.isascii() or not country.isalpha():
        raise BadInput(f"{country[:40]!r} is not a country code of two letters", line=line)
    city = cells[layout.city][:MAX_NAME] if -1 < layout.city < len(cells) else ""
    return Place(country.upper(), "" if city == "-" else city, _point(cells, layout, line))


def _point(cells: list[str], layout: _Layout, line: int) -> Point | None:
    if layout.latitude < 0 or not cells[layout.latitude]:
        return None
    try:
        at = float(cells[layout.latitude]), float(cells[layout.longitude])
    except ValueError as error:
        raise BadInput("its coordinates are no numbers", line=line) from error
    if not all(map(math.isfinite, at)) or abs(at[0]) > 90 or abs(at[1]) > 180:
        raise BadInput("its coordinates are not on the Earth", line=line)
    # A city has one place, wherever the ranges of its addresses are put.
    return round(at[0], 1), round(at[1], 1)


def _prefix(text: str, line: int) -> tuple[int, int, int]:
    try:
        return read_prefix(text)
    except ValueError as error:
        raise BadInput(f"{text[:60]!r} is not a prefix: {error}", line=line) from error


def _range(first: str, last: str, line: int) -> tuple[int, int, int]:
    begin, end = _number(first, line), _number(last, line)
    if begin[0] != end[0] or begin[1] > end[1]:
        raise BadInput("its first two columns are not a range of addresses", line=line)
    return begin[0], begin[1], end[1]


def _number(text: str, line: int) -> tuple[int, int]:
    """Return the family and number of an address, dotted or as IP2Location's whole number."""
    if text.isascii() and text.isdigit() and int(text) < 1 << 32:
        return 4, int(text)
    packed = pack_address(text)
    if not packed:
        raise BadInput(f"{text[:60]!r} is not an address", line=line)
    return (4 if len(packed) == 4 else 6), int.from_bytes(packed)
