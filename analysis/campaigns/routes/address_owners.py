"""Classify each distinct hop address: cloud ranges, origin ASes, exchange prefixes.

The look-up functions are arguments, because the tables behind them belong to another stage.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from ipaddress import ip_address, ip_network
from socket import AF_INET, inet_pton
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.providers import PROVIDER_BY_ID

# Origin ASes of each address; empty for an unannounced address.
FindOrigins = Callable[[Sequence[str]], Sequence[tuple[int, ...]]]
# Provider and region of each address, empty texts where no range file holds it.
FindClouds = Callable[[Sequence[str]], Sequence[tuple[str, str]]]
# IPv4 and IPv6 prefixes share one set; a bit above all others marks the family.
_FAMILY_BITS = {4: 1 << 40, 6: 1 << 160}
# First octets that contain special-purpose addresses (RFC 6890).
_MIXED_OCTETS = frozenset({0, 10, 100, 127, 169, 172, 192, 198, 203})
_FIRST_MULTICAST = 224
# Published names of ASes end with the country of their registration.
_COUNTRY = re.compile(r",\s*([A-Z]{2})$")


class AddressKind(IntEnum):
    """What an address is, apart from the cloud of a path."""

    SILENT = 0  # no reply: index 0 of every table
    PRIVATE = 1
    EXCHANGE = 2
    UNANNOUNCED = 3
    AS = 4
    SEVERAL = 5  # announced by several ASes


class AddressTable(NamedTuple):
    """Columns by address index: ``kinds`` (n,) uint8; ``asns``, ``owners`` (n,) int64.

    ``owners`` has one bit per provider. Origin ASes in CSR form: those of address ``i`` are
    ``members[begins[i]:begins[i + 1]]``.
    """

    kinds: NDArray[np.uint8]
    asns: NDArray[np.int64]
    owners: NDArray[np.int64]
    begins: NDArray[np.int64]
    members: NDArray[np.int64]


# Kind, origin AS (-1 unless there is exactly one), provider bits, all origin ASes.
_Row = tuple[AddressKind, int, int, tuple[int, ...]]
_NONE = np.empty(0, np.int64)
_EMPTY_TABLE = AddressTable(np.empty(0, np.uint8), _NONE, _NONE, np.zeros(1, np.int64), _NONE)


def _append_rows(table: AddressTable, rows: Sequence[_Row]) -> AddressTable:
    """Return a table with more addresses."""
    kinds, asns, owners, sets = zip(*rows, strict=True)
    begins = np.cumsum([table.begins[-1], *map(len, sets)], dtype=np.int64)
    members = np.array([asn for own in sets for asn in own], np.int64)
    return AddressTable(
        np.concatenate([table.kinds, np.array(kinds, np.uint8)]),
        np.concatenate([table.asns, np.array(asns, np.int64)]),
        np.concatenate([table.owners, np.array(owners, np.int64)]),
        np.concatenate([table.begins, begins[1:]]),
        np.concatenate([table.members, members]),
    )


class Addresses:
    """Index of distinct addresses with the kind, origin ASes and cloud of each."""

    def __init__(
        self,
        origins: FindOrigins,
        clouds: FindClouds,
        exchanges: Sequence[str] = (),
        cloud_ases: dict[str, frozenset[int]] | None = None,
    ) -> None:
        self._origins, self._clouds = origins, clouds
        self._exchanges = _by_length(exchanges)
        self._names: dict[str, int] = {}
        published = {p.id: p.asns for p in PROVIDER_BY_ID.values()}
        own = published if cloud_ases is None else cloud_ases
        self._owners_of = {
            asn: sum(1 << self._provider(p) for p in own if asn in own[p])
            for asn in {a for ases in own.values() for a in ases}
        }
        self._texts = pa.array([], pa.string())
        self._table = _EMPTY_TABLE
        # Rows that are not yet in the table.
        self._rows: list[_Row] = [(AddressKind.SILENT, -1, 0, ())]
        self._places: dict[str, tuple[str, str]] = {}

    def number(self, column: pa.Array) -> NDArray[np.int64]:
        """Return the index of each address of a column, (n,) int64; null is index 0."""
        coded = column
        if not isinstance(column, pa.DictionaryArray):
            coded = pc.dictionary_encode(column)
        places = pc.index_in(coded.dictionary, self._texts)
        if places.null_count:
            new = coded.dictionary.filter(pc.is_null(places)).unique()
            self._learn(new.to_pylist())
            # New addresses are appended in order of first occurrence.
            first, own = len(self._texts), pc.index_in(coded.dictionary, new)
            self._texts = pa.concat_arrays([self._texts, new.cast(pa.string())])
            places = pc.coalesce(places, pc.add(own, first))
        places = places.to_numpy(zero_copy_only=False)
        # Index 0 is a missing reply, which has no text.
        known = np.append(places.astype(np.int64) + 1, 0)
        indices = pc.fill_null(coded.indices, len(known) - 1).to_numpy(zero_copy_only=False)
        numbers: NDArray[np.int64] = known[indices]
        return numbers

    def place(self, address: str) -> tuple[str, str]:
        """Return provider and region of an address by the range files."""
        if address not in self._places:
            self._places[address] = self._clouds([address])[0]
        return self._places[address]

    def provider(self, name: str) -> int:
        """Return the bit number of a provider; -1 for the empty name."""
        return self._provider(name) if name else -1

    def table(self) -> AddressTable:
        """Return the table of all addresses so far."""
        if self._rows:
            self._table = _append_rows(self._table, self._rows)
            self._rows = []
        return self._table

    def describe(self, names: Mapping[int, str]) -> pa.Table:
        """Return one row per address: kind, origin ASes with names, country of registration of
        the first AS, provider and region."""
        table, texts = self.table(), self._texts.to_pylist()
        rows = []
        for number, text in enumerate(texts, 1):
            own = table.members[table.begins[number] : table.begins[number + 1]].tolist()
            provider, region = self._places.get(text, ("", ""))
            known = [names.get(asn, "") for asn in own]
            country = _COUNTRY.search(known[0]) if known else None
            rows.append(
                {
                    "address": text,
                    "kind": AddressKind(int(table.kinds[number])).name.lower(),
                    "ases": ", ".join(f"AS{asn}" for asn in own),
                    "name": "; ".join(_COUNTRY.sub("", n) for n in known if n),
                    "country": country[1] if country else "",
                    "provider": provider,
                    "region": region,
                }
            )
        return pa.Table.from_pylist(rows, schema=_DESCRIPTION)

    def _provider(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _learn(self, new: list[str]) -> None:
        origins, clouds = self._origins(new), self._clouds(new)
        for text, ases, place in zip(new, origins, clouds, strict=True):
            self._places[text] = place
            self._rows.append(self._classify(text, tuple(ases), place[0]))

    def _classify(self, text: str, ases: tuple[int, ...], provider: str) -> _Row:
        owners = 1 << self._provider(provider) if provider else 0
        for asn in ases:
            owners |= self._owners_of.get(asn, 0)
        kind = _kind(text, ases, self._exchanges)
        return kind, ases[0] if kind is AddressKind.AS else -1, owners, ases


_DESCRIPTION = pa.schema(
    [(n, pa.string()) for n in ("address", "kind", "ases", "name", "country", "provider", "region")]
)


def _kind(text: str, ases: tuple[int, ...], exchanges: dict[int, set[int]]) -> AddressKind:
    try:
        number, public = _read(text)
    except ValueError:
        # A reply without a valid address has an unknown owner.
        return AddressKind.UNANNOUNCED
    if not public:
        return AddressKind.PRIVATE
    if any(number >> rest in keys for rest, keys in exchanges.items()):
        return AddressKind.EXCHANGE
    if not ases:
        return AddressKind.UNANNOUNCED
    return AddressKind.AS if len(ases) == 1 else AddressKind.SEVERAL


def _read(text: str) -> tuple[int, bool]:
    """Return an address as a number and whether it is public; raise ``ValueError``."""
    try:
        packed = inet_pton(AF_INET, text)
    except OSError:
        packed = b""
    # Most addresses begin with an octet under which all are public, and are done with here.
    if packed and packed[0] < _FIRST_MULTICAST and packed[0] not in _MIXED_OCTETS:
        return int.from_bytes(packed, "big") | _FAMILY_BITS[4], True
    address = ip_address(text)
    number = int(address) | _FAMILY_BITS[address.version]
    return number, address.is_global and not address.is_multicast


def _by_length(prefixes: Sequence[str]) -> dict[int, set[int]]:
    """Group prefixes by the number of host bits; keys hold the prefix bits and the family bit."""
    found: dict[int, set[int]] = {}
    for text in prefixes:
        network: Any = ip_network(text)
        number = int(network.network_address) | _FAMILY_BITS[network.version]
        rest = network.max_prefixlen - network.prefixlen
        found.setdefault(rest, set()).add(number >> rest)
    return found
