"""Every address of a set of paths once: whose it is, by ranges, origin ASes and exchange prefixes.

Look-ups are arguments, because the tables behind them belong to another stage.
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

from analysis.campaigns.routes.cloud_asns import OWN_ASES

# Origin ASes of each address, none where nobody announces it.
FindOrigins = Callable[[Sequence[str]], Sequence[tuple[int, ...]]]
# Provider and region of each address, empty texts where no range file holds it.
FindClouds = Callable[[Sequence[str]], Sequence[tuple[str, str]]]
# Numbers of both families share one set of prefixes; a bit above all others tells them apart.
_FAMILY_BITS = {4: 1 << 40, 6: 1 << 160}
# First octets under which special addresses lie beside public ones, or alone.
_MIXED_OCTETS = frozenset({0, 10, 100, 127, 169, 172, 192, 198, 203})
_FIRST_MULTICAST = 224
# Published names of ASes end with the country of their registration.
_COUNTRY = re.compile(r",\s*([A-Z]{2})$")


class Kind(IntEnum):
    """What an address is, before it is asked whose cloud a path belongs to."""

    SILENT = 0  # nobody answered: number 0 of every book
    PRIVATE = 1
    EXCHANGE = 2
    UNANNOUNCED = 3
    AS = 4
    SEVERAL = 5  # announced by several ASes


class Book(NamedTuple):
    """Columns by the number of an address; ``owners`` has one bit for each provider.

    ``members`` from ``begins`` on are the origins, where there are several.
    """

    kinds: NDArray[np.uint8]
    asns: NDArray[np.int64]
    owners: NDArray[np.int64]
    begins: NDArray[np.int64]
    members: NDArray[np.int64]


# Kind, the AS of kind AS, bits of the providers whose own it is, and all ASes.
_Row = tuple[Kind, int, int, tuple[int, ...]]
_NONE = np.empty(0, np.int64)
_EMPTY = Book(np.empty(0, np.uint8), _NONE, _NONE, np.zeros(1, np.int64), _NONE)


def _extended(book: Book, rows: Sequence[_Row]) -> Book:
    """A book with more addresses."""
    kinds, asns, owners, sets = zip(*rows, strict=True)
    begins = np.cumsum([book.begins[-1], *map(len, sets)], dtype=np.int64)
    members = np.array([asn for own in sets for asn in own], np.int64)
    return Book(
        np.concatenate([book.kinds, np.array(kinds, np.uint8)]),
        np.concatenate([book.asns, np.array(asns, np.int64)]),
        np.concatenate([book.owners, np.array(owners, np.int64)]),
        np.concatenate([book.begins, begins[1:]]),
        np.concatenate([book.members, members]),
    )


class Addresses:
    """Numbers for texts of addresses, with what the look-ups say of each."""

    def __init__(
        self,
        origins: FindOrigins,
        clouds: FindClouds,
        exchanges: Sequence[str] = (),
        own_ases: dict[str, frozenset[int]] | None = None,
    ) -> None:
        self._origins, self._clouds = origins, clouds
        self._exchanges = _by_length(exchanges)
        self._names: dict[str, int] = {}
        own = OWN_ASES if own_ases is None else own_ases
        self._owners_of = {
            asn: sum(1 << self._provider(p) for p in own if asn in own[p])
            for asn in {a for ases in own.values() for a in ases}
        }
        self._texts = pa.array([], pa.string())
        self._book = _EMPTY
        # What is known and not yet in the book.
        self._rows: list[_Row] = [(Kind.SILENT, -1, 0, ())]
        self._places: dict[str, tuple[str, str]] = {}

    def number(self, column: pa.Array) -> NDArray[np.int64]:
        """The numbers of a column of addresses."""
        coded = column
        if not isinstance(column, pa.DictionaryArray):
            coded = pc.dictionary_encode(column)
        places = pc.index_in(coded.dictionary, self._texts)
        if places.null_count:
            new = coded.dictionary.filter(pc.is_null(places)).unique()
            self._learn(new.to_pylist())
            # What is new stands behind all others, in the order in which it came.
            first, own = len(self._texts), pc.index_in(coded.dictionary, new)
            self._texts = pa.concat_arrays([self._texts, new.cast(pa.string())])
            places = pc.coalesce(places, pc.add(own, first))
        places = places.to_numpy(zero_copy_only=False)
        # Number 0 is silence, which is no text of the book.
        known = np.append(places.astype(np.int64) + 1, 0)
        indices = pc.fill_null(coded.indices, len(known) - 1).to_numpy(zero_copy_only=False)
        numbers: NDArray[np.int64] = known[indices]
        return numbers

    def place(self, address: str) -> tuple[str, str]:
        """Provider and region of an address, by the ranges."""
        if address not in self._places:
            self._places[address] = self._clouds([address])[0]
        return self._places[address]

    def provider(self, name: str) -> int:
        """The number of a provider's bit; -1 for the empty name."""
        return self._provider(name) if name else -1

    def book(self) -> Book:
        """All that is known now."""
        if self._rows:
            self._book = _extended(self._book, self._rows)
            self._rows = []
        return self._book

    def told(self, names: Mapping[int, str]) -> pa.Table:
        """Every address that was asked for: what it is, its ASes with their names and the country
        of the first one's registration, and the cloud's region."""
        book, texts = self.book(), self._texts.to_pylist()
        rows = []
        for number, text in enumerate(texts, 1):
            own = book.members[book.begins[number] : book.begins[number + 1]].tolist()
            provider, region = self._places.get(text, ("", ""))
            known = [names.get(asn, "") for asn in own]
            country = _COUNTRY.search(known[0]) if known else None
            rows.append(
                {
                    "address": text,
                    "kind": Kind(int(book.kinds[number])).name.lower(),
                    "ases": ", ".join(f"AS{asn}" for asn in own),
                    "name": "; ".join(_COUNTRY.sub("", n) for n in known if n),
                    "country": country[1] if country else "",
                    "provider": provider,
                    "region": region,
                }
            )
        return pa.Table.from_pylist(rows, schema=_TOLD)

    def _provider(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _learn(self, new: list[str]) -> None:
        origins, clouds = self._origins(new), self._clouds(new)
        for text, ases, place in zip(new, origins, clouds, strict=True):
            self._places[text] = place
            self._rows.append(self._judge(text, tuple(ases), place[0]))

    def _judge(self, text: str, ases: tuple[int, ...], provider: str) -> _Row:
        owners = 1 << self._provider(provider) if provider else 0
        for asn in ases:
            owners |= self._owners_of.get(asn, 0)
        kind = _kind(text, ases, self._exchanges)
        return kind, ases[0] if kind is Kind.AS else -1, owners, ases


_TOLD = pa.schema(
    [(n, pa.string()) for n in ("address", "kind", "ases", "name", "country", "provider", "region")]
)


def _kind(text: str, ases: tuple[int, ...], exchanges: dict[int, set[int]]) -> Kind:
    try:
        number, public = _read(text)
    except ValueError:
        # Text that is no address says that somebody answered, and nothing about who.
        return Kind.UNANNOUNCED
    if not public:
        return Kind.PRIVATE
    if any(number >> rest in keys for rest, keys in exchanges.items()):
        return Kind.EXCHANGE
    if not ases:
        return Kind.UNANNOUNCED
    return Kind.AS if len(ases) == 1 else Kind.SEVERAL


def _read(text: str) -> tuple[int, bool]:
    """The number of an address, and whether it is public; raises ``ValueError``."""
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
    """Prefixes as numbers, by how many bits lie behind them; families are told apart by a bit."""
    found: dict[int, set[int]] = {}
    for text in prefixes:
        network: Any = ip_network(text)
        number = int(network.network_address) | _FAMILY_BITS[network.version]
        rest = network.max_prefixlen - network.prefixlen
        found.setdefault(rest, set()).add(number >> rest)
    return found
