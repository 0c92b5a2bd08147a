"""Plain lists of prefixes, one per line, and geofeeds (RFC 8805): prefix, country, city.

In go bytes; out come lines or rows, or a refusal that names the line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cartography.ranges.range_file import RangeEntry, check_prefix, require_entries
from core.errors import BadInput
from core.statuses import AddressKind

# Prefix, country, region, city and postal code (RFC 8805).
_N_CELLS = 5
# DigitalOcean's word for a block that is nowhere yet.
_NOWHERE = ["None"]


def read_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Lines that are not empty and no comment, with their numbers; raises ``BadInput``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"the file is not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def is_list(data: bytes) -> bool:
    """Whether the bytes begin as a list of prefixes does."""
    line = next((s for s in data[:4096].split(b"\n") if s.strip() and s[:1] != b"#"), b"")
    return is_prefix(line.strip())


def is_prefix(text: bytes) -> bool:
    """Whether bytes are a prefix."""
    try:
        check_prefix(text.decode("ascii"), "")
    except (BadInput, UnicodeDecodeError):
        return False
    return True


def holds_any(data: bytes, anchors: tuple[bytes, ...]) -> bool:
    """Whether one of the lines is one of these prefixes, which its provider never gave up."""
    return not {line.strip() for line in data.split(b"\n")}.isdisjoint(anchors)


def read_list(data: bytes, provider: str, service: str) -> tuple[RangeEntry, ...]:
    """Entries of an edge network's list, none of which has a region; raises ``BadInput``."""
    return require_entries(
        tuple(
            RangeEntry(
                prefix=check_prefix(text, f"line {number}"),
                provider=provider,
                service=service,
                region=None,
                kind=AddressKind.CDN,
            )
            for number, text in read_lines(data)
        )
    )


def family_of(entries: tuple[RangeEntry, ...]) -> str:
    """``v4`` or ``v6``: lists of the two families stand side by side; raises ``BadInput`` for
    a list of both."""
    families = {"v6" if ":" in entry.prefix else "v4" for entry in entries}
    if len(families) > 1:
        raise BadInput("the list holds prefixes of both families; its provider has one for each")
    return families.pop()


@dataclass(frozen=True, slots=True)
class Feed:
    """Whose geofeed it is, and the region that each (country, city) stands for."""

    provider: str
    service: str
    cities: Mapping[tuple[str, str], str]


def is_feed(data: bytes) -> bool:
    """Whether the bytes begin as a geofeed does."""
    line = next((s for s in data[:4096].split(b"\n") if s.strip() and s[:1] != b"#"), b"")
    cells = line.strip().split(b",")
    return len(cells) > 1 and is_prefix(cells[0])


def read_feed(data: bytes, feed: Feed) -> tuple[RangeEntry, ...]:
    """Entries of a geofeed; raises ``BadInput``."""
    # A file that is cut within its last cell is a sound one but for its end.
    if not data.endswith(b"\n"):
        raise BadInput("the last line does not end; is the file cut off?")
    return require_entries(tuple(_entry(*row, feed) for row in read_lines(data)))


def _entry(number: int, line: str, feed: Feed) -> RangeEntry:
    where, (prefix, *cells) = f"line {number}", (cell.strip() for cell in line.split(","))
    place = None if cells == _NOWHERE else _read_place(cells, where)
    return RangeEntry(
        prefix=check_prefix(prefix, where),
        provider=feed.provider,
        service=feed.service,
        region=feed.cities.get(place) if place else None,
        region_as_published=" ".join(place) if place else None,
    )


def _read_place(cells: list[str], where: str) -> tuple[str, str]:
    """Country and city of a row; empty cells behind the postal code are no harm."""
    n_cells = len(cells) + 1
    if n_cells < _N_CELLS or any(cells[_N_CELLS - 1 :]):
        raise BadInput(f"{where}: it has {n_cells} cells instead of {_N_CELLS}")
    country, city = cells[0], cells[2]
    if not (len(country) == 2 and country.isascii() and country.isupper() and city):
        raise BadInput(f"{where}: {country!r} and {city!r} are not a country's code and a city")
    return country, city
