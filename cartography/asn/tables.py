"""Origin ASes of addresses: route tables in, the set of origins of the longest prefix out.

The same intervals, bucket index and compiled loops as for cloud tables; a label is a set of ASes,
and neighbouring prefixes of one origin are one interval.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from cartography.asn.files import (
    OriginFile,
    Origins,
    RangeRow,
    has_repeated_prefixes,
    join_origins,
    rows_of,
)
from core.errors import BadInput

_KIND = "origins"
# Single origins below this number, which most are, are looked up in a table instead of sorted.
_SMALL_ASN = 1 << 22


class OriginTable:
    """A compiled table of origins; immutable, so threads may share it.

    ``origins`` has the set of each label: several where a prefix has several origins.
    """

    def __init__(self, addresses: AddressMap, origins: Sequence[Origins]) -> None:
        self.addresses = addresses
        self.origins = origins

    @classmethod
    def build(cls, file: OriginFile) -> "OriginTable":
        """Compile a file; raises ``BadInput`` where ranges overlap."""
        if file.ranges:
            return cls(*_from_ranges(file.ranges))
        return cls(*_from_prefixes(file))

    @classmethod
    def open(cls, path: Path) -> "OriginTable":
        """A table that was written; raises ``BadInput`` when the file is damaged, ``OSError``
        when it is not there."""
        found = open_map(path, _KIND)
        members, ends = found.arrays["members"].tolist(), found.arrays["member_ends"].tolist()
        begins = [0, *ends[:-1]]
        sets = [tuple(members[a:b]) for a, b in zip(begins, ends, strict=True)]
        return cls(found.addresses, sets)

    def write(self, path: Path) -> str:
        """Write the table as one file that ``open`` maps; returns the digest of its contents."""
        arrays = {
            "members": np.array([asn for own in self.origins for asn in own], dtype=np.uint32),
            "member_ends": np.cumsum([len(own) for own in self.origins], dtype=np.int32),
        }
        return write_map(path, _KIND, self.addresses, arrays, {})

    def find(self, address: str) -> Origins:
        """The origins of one address; none for an unannounced address, and for text that is no
        address.
        """
        label = self.addresses.find(address)
        return self.origins[label] if label >= 0 else ()

    def find_many(self, addresses: Sequence[str]) -> list[Origins]:
        """Origins in the order of ``addresses``."""
        labels = self.addresses.find_texts(addresses).tolist()
        return [self.origins[label] if label >= 0 else () for label in labels]


def _from_prefixes(file: OriginFile) -> tuple[AddressMap, list[Origins]]:
    """Plain lines stay columns; a file where a prefix repeats is taken row by row."""
    plain, rows = file.regular, join_origins(file.prefixes)
    own4 = [row for row in rows if row[0] == 4]
    firsts = np.concatenate([plain.firsts, np.array([r[1] for r in own4], dtype=np.uint32)])
    lengths = np.concatenate([plain.lengths, np.array([r[2] for r in own4], dtype=np.uint8)])
    if has_repeated_prefixes(firsts, lengths):
        return _from_prefixes(_by_rows(file))
    sets, labels = _number_sets(plain.origins)
    numbers = {own: label for label, own in enumerate(sets)}
    labels4 = [numbers.setdefault(row[3], len(numbers)) for row in own4]
    own6 = [row for row in rows if row[0] == 6]
    labels6 = [numbers.setdefault(row[3], len(numbers)) for row in own6]
    ipv4 = _label(Column(4, firsts), lengths, np.concatenate([labels, _labels(labels4)]))
    column6 = Column.of(6, (row[1] for row in own6))
    lengths6 = np.array([row[2] for row in own6], dtype=np.uint8)
    ipv6 = _label(column6, lengths6, _labels(labels6))
    return AddressMap(ipv4, ipv6), list(numbers)


def _by_rows(file: OriginFile) -> OriginFile:
    plain = file.regular
    nothing = type(plain)(plain.firsts[:0], plain.lengths[:0], plain.origins[:0])
    return OriginFile(nothing, prefixes=tuple(rows_of(file)))


def _number_sets(asns: NDArray[np.int64]) -> tuple[list[Origins], Labels]:
    """Single origins numbered in order, and the number of each row."""
    large = np.flatnonzero(asns >= _SMALL_ASN)
    beyond, inverse = np.unique(asns[large], return_inverse=True)
    small = np.delete(asns, large) if len(large) else asns
    seen = np.zeros(_SMALL_ASN, dtype=np.bool_)
    seen[small] = True
    distinct = np.flatnonzero(seen)
    number = np.zeros(_SMALL_ASN, dtype=np.int32)
    number[distinct] = np.arange(len(distinct), dtype=np.int32)
    labels = number[np.minimum(asns, _SMALL_ASN - 1)]
    labels[large] = len(distinct) + inverse
    return [(asn,) for asn in [*distinct.tolist(), *beyond.tolist()]], labels


def _label(firsts: Column, lengths: NDArray[np.uint8], labels: Labels) -> Intervals:
    """Flatten, and join neighbours of one label."""
    found = flatten(firsts, lengths).intervals
    known = np.append(labels, np.int32(NO_LABEL))
    own = known[found.labels]
    kept = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
    starts = found.starts
    high: Any = starts.high if starts.high is None else starts.high[kept]
    return Intervals(Column(starts.family, starts.low[kept], high), own[kept])


def _labels(numbers: list[int]) -> Labels:
    return np.array(numbers, dtype=np.int32)


def _from_ranges(rows: Sequence[RangeRow]) -> tuple[AddressMap, list[Origins]]:
    numbers: dict[Origins, int] = {}
    by_family: dict[int, list[tuple[int, int, int]]] = {4: [], 6: []}
    for family, first, last, origins in rows:
        label = numbers.setdefault(origins, len(numbers))
        by_family[family].append((first, last, label))
    try:
        parts = [join_ranges(family, sorted(own)) for family, own in by_family.items()]
    except ValueError as error:
        raise BadInput(f"the file contradicts itself: {error}") from error
    return AddressMap(parts[0], parts[1]), list(numbers)
