"""Parse plain lists of prefixes, one per line, and geofeeds (RFC 8805): prefix, country, city.

Errors name the line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cartography.ranges.range_file import RangeEntry, check_prefix, require_entries
from core.errors import BadInput
from core.statuses import AddressKind

# Prefix, country, region, city and postal code (RFC 8805).
_N_FIELDS = 5
# DigitalOcean publishes this for a block without a place.
_NO_PLACE = ["None"]


def read_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line but empty ones and comments; raise ``BadInput``."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"the file is not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def is_list(data: bytes) -> bool:
    """Return whether bytes begin like a list of prefixes."""
    line = next((s for s in data[:4096].split(b"\n") if s.strip() and s[:1] != b"#"), b"")
    return is_prefix(line.strip())


def is_prefix(text: bytes) -> bool:
    """Return whether bytes are a prefix."""
    try:
        check_prefix(text.decode("ascii"), "")
    except (BadInput, UnicodeDecodeError):
        return False
    return True


def contains_any_prefix(data: bytes, anchors: tuple[bytes, ...]) -> bool:
    """Return whether one of these prefixes is a line of the list."""
    return not {line.strip() for line in data.split(b"\n")}.isdisjoint(anchors)


def read_list(data: bytes, provider: str, service: str) -> tuple[RangeEntry, ...]:
    """Parse an edge network's list into entries without a region; raise ``BadInput``."""
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
    """Return ``v4`` or ``v6``, the variant of a list; raise ``BadInput`` for a list of both."""
    families = {"v6" if ":" in entry.prefix else "v4" for entry in entries}
    if len(families) > 1:
        raise BadInput("the list holds prefixes of both families; its provider has one for each")
    return families.pop()


@dataclass(frozen=True, slots=True)
class Feed:
    """A provider's geofeed, with the region of each (country, city)."""

    provider: str
    service: str
    cities: Mapping[tuple[str, str], str]


def score_feed(data: bytes, feed: Feed) -> float:
    """Return how well bytes fit a feed: 0 for no geofeed, else 0.5 to 1 by rows of known cities.

    Geofeeds of all providers have one format, so that only their cities distinguish them.
    """
    if not is_feed(data):
        return 0.0
    lines = [line for line in data.decode("utf-8", "replace").split("\n") if line[:1] not in "#"]
    places = [tuple(cell.strip() for cell in line.split(",")[1:4:2]) for line in lines]
    return 0.5 + 0.5 * sum(place in feed.cities for place in places) / len(places)


def is_feed(data: bytes) -> bool:
    """Return whether bytes begin like a geofeed."""
    line = next((s for s in data[:4096].split(b"\n") if s.strip() and s[:1] != b"#"), b"")
    cells = line.strip().split(b",")
    return len(cells) > 1 and is_prefix(cells[0])


def read_feed(data: bytes, feed: Feed) -> tuple[RangeEntry, ...]:
    """Parse a geofeed into entries; raise ``BadInput``."""
    # A file cut within its last cell differs from a sound one only in the missing line end.
    if not data.endswith(b"\n"):
        raise BadInput("the last line does not end; is the file cut off?")
    return require_entries(tuple(_entry(*row, feed) for row in read_lines(data)))


def _entry(number: int, line: str, feed: Feed) -> RangeEntry:
    where, (prefix, *cells) = f"line {number}", (cell.strip() for cell in line.split(","))
    place = None if cells == _NO_PLACE else _read_place(cells, where)
    return RangeEntry(
        prefix=check_prefix(prefix, where),
        provider=feed.provider,
        service=feed.service,
        region=feed.cities.get(place) if place else None,
        region_as_published=" ".join(place) if place else None,
    )


def _read_place(cells: list[str], where: str) -> tuple[str, str]:
    """Parse country and city of a row; empty cells after the postal code are allowed."""
    n_cells = len(cells) + 1
    if n_cells < _N_FIELDS or any(cells[_N_FIELDS - 1 :]):
        raise BadInput(f"{where}: it has {n_cells} cells instead of {_N_FIELDS}")
    country, city = cells[0], cells[2]
    if not (len(country) == 2 and country.isascii() and country.isupper() and city):
        raise BadInput(f"{where}: {country!r} and {city!r} are not a country's code and a city")
    return country, city
