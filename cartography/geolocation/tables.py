"""Places of addresses: a compiled table with the intervals and bucket index of cloud tables.

A label is a place; neighbouring addresses of one place are one interval.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cartography.addresses.intervals import (
    NO_LABEL,
    Column,
    Intervals,
    Labels,
    flatten,
    join_ranges,
)
from cartography.addresses.matching import AddressMap
from cartography.addresses.table_file import open_map, write_map
from cartography.geolocation.files import Place, PlaceFile
from core.errors import BadInput

_KIND = "places"


class PlaceTable:
    """A compiled table of places; immutable, so threads may share it."""

    def __init__(self, addresses: AddressMap, places: Sequence[Place]) -> None:
        self.addresses = addresses
        self.places = places

    @classmethod
    def build(cls, file: PlaceFile) -> "PlaceTable":
        """Compile a file; raise ``BadInput`` where ranges overlap."""
        build = _from_ranges if file.ranges else _from_prefixes
        return cls(AddressMap(build(file, 4), build(file, 6)), file.places)

    @classmethod
    def open(cls, path: Path) -> "PlaceTable":
        """Open a table that was written; raise ``BadInput`` when the file is damaged."""
        found = open_map(path, _KIND)
        rows = found.document["places"]
        places = [Place(code, city, (at[0], at[1]) if at else None) for code, city, at in rows]
        return cls(found.addresses, places)

    def write(self, path: Path) -> str:
        """Write the table as one file that ``open`` maps; return the digest of its contents."""
        rows = [(place.country, place.city, place.at) for place in self.places]
        return write_map(path, _KIND, self.addresses, {}, {"places": rows})

    def find(self, address: str) -> Place | None:
        """Return the place of one address; ``None`` where the table has none."""
        label = self.addresses.find(address)
        return self.places[label] if label >= 0 else None


def _from_ranges(file: PlaceFile, family: int) -> Intervals:
    rows = sorted((first, last, n) for own, first, last, n in file.ranges if own == family)
    try:
        return join_ranges(family, rows)
    except ValueError as error:
        raise BadInput(f"the file contradicts itself: {error}") from error


def _from_prefixes(file: PlaceFile, family: int) -> Intervals:
    # Of a prefix that is listed twice the last line counts, as later lines correct earlier ones.
    known = {(first, length): n for own, first, length, n in file.prefixes if own == family}
    firsts = Column.of(family, (first for first, _ in known))
    lengths = np.array([length for _, length in known], dtype=np.uint8)
    labels: Labels = np.array([*known.values(), NO_LABEL], dtype=np.int32)
    found = flatten(firsts, lengths).intervals
    return Intervals(found.starts, labels[found.labels])
