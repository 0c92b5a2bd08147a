"""Which announced prefix an address lies in: a route file in, prefixes and their origins out.

``OriginTable`` forgets the prefixes of one origin that touch, which makes it small and fast; this
table keeps every prefix, for those who ask for the evidence.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cartography.addresses.intervals import Column, flatten, join_ranges
from cartography.addresses.matching import AddressMap
from cartography.addresses.prefixes import pack_address, write_address, write_prefix
from cartography.asn.files import OriginFile, Origins, join_origins, rows_of
from core.errors import BadInput


@dataclass(frozen=True, slots=True)
class Announced:
    """A prefix with its origins; where the file holds ranges, the ``bounds`` of one instead."""

    prefix: str
    origins: Origins
    bounds: tuple[str, str] | None = None

    def prefix_of(self, address: str) -> str:
        """The prefix itself; of a range, the widest prefix within it that holds the address."""
        if self.bounds is None:
            return self.prefix
        first, last = map(ipaddress.ip_address, self.bounds)
        # Both bounds are of one family, whichever it is.
        blocks = ipaddress.summarize_address_range(first, last)
        own = ipaddress.ip_address(address)
        own = getattr(own, "ipv4_mapped", None) or own
        return next(str(block) for block in blocks if own in block)


class OriginPrefixes:
    """The prefixes or ranges of one file, each with its origins."""

    def __init__(self, addresses: AddressMap, rows: Sequence[Announced]) -> None:
        self.addresses, self.rows = addresses, rows

    @classmethod
    def build(cls, file: OriginFile) -> "OriginPrefixes":
        """Every prefix of a file; raises ``BadInput`` where ranges overlap."""
        return _of_ranges(file) if file.ranges else _of_prefixes(file)

    def find_many(self, addresses: Sequence[str]) -> list[Announced | None]:
        """The longest prefix around each address; ``None`` for unannounced addresses and for text
        that is not an address.
        """
        labels = self.addresses.find_texts(addresses).tolist()
        return [self.rows[label] if label >= 0 else None for label in labels]


def is_address(text: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    return bool(pack_address(text))


def _of_prefixes(file: OriginFile) -> OriginPrefixes:
    rows = join_origins(rows_of(file))
    parts = {}
    for family in (4, 6):
        own = [number for number, row in enumerate(rows) if row[0] == family]
        lengths = np.array([rows[n][2] for n in own], dtype=np.uint8)
        found = flatten(Column.of(family, (rows[n][1] for n in own)), lengths).intervals
        numbers = np.array([*own, -1], dtype=np.int32)
        parts[family] = type(found)(found.starts, numbers[found.labels])
    stated = [Announced(write_prefix(*row[:3]), row[3]) for row in rows]
    return OriginPrefixes(AddressMap(parts[4], parts[6]), stated)


def _of_ranges(file: OriginFile) -> OriginPrefixes:
    rows = sorted(file.ranges)
    parts = {}
    for family in (4, 6):
        own = [(row[1], row[2], n) for n, row in enumerate(rows) if row[0] == family]
        try:
            parts[family] = join_ranges(family, own)
        except ValueError as error:
            raise BadInput(f"the file contradicts itself: {error}") from error
    stated = [
        Announced("", origins, (write_address(family, first), write_address(family, last)))
        for family, first, last, origins in rows
    ]
    return OriginPrefixes(AddressMap(parts[4], parts[6]), stated)
