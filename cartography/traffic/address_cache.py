"""Cache the distinct addresses of a log with their labels and whether they are local.

Columns of address text are encoded as numbers, which index the cached labels and flags.
"""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cartography.addresses.prefixes import pack_address
from cartography.placement.cloud_table import PrefixTable
from core.errors import BadInput
from core.statuses import AddressKind

Mask = NDArray[np.bool_]
Labels = NDArray[np.int32]
Numbers = NDArray[np.int64]
NOWHERE = -1
# A cache of so many addresses takes some hundred megabytes; then it is cleared.
_MOST = 1 << 19
_PRIVATE = (
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "fc00::/7",
    "fe80::/10",
)


class LocalNetworks:
    """The networks of the clients: those named, else the private address space."""

    def __init__(self, networks: Sequence[str] = ()) -> None:
        self.is_named = bool(networks)
        self._spans = [_span(text) for text in networks or _PRIVATE]

    def hold(self, joined: bytes, n_bytes: int) -> Mask:
        """Return a mask of the local ones among concatenated addresses of four or sixteen bytes."""
        # Fixed texts of bytes compare as their numbers do, but for zeros at their end, which the
        # byte behind keeps.
        count = len(joined) // n_bytes
        rows = np.frombuffer(joined, np.uint8).reshape(count, n_bytes)
        keyed = np.concatenate([rows, np.ones((count, 1), np.uint8)], axis=1)
        keys = np.ascontiguousarray(keyed).view(f"S{n_bytes + 1}").reshape(-1)
        found = np.zeros(count, dtype=bool)
        for first, last in self._spans:
            if len(first) == n_bytes:
                found |= (keys >= first + b"\1") & (keys <= last + b"\1")
        return found


def _span(text: str) -> tuple[bytes, bytes]:
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise BadInput(f"{text!r} is not a network: {error}", field="client-network") from error
    return network.network_address.packed, network.broadcast_address.packed


@dataclass(frozen=True)
class LabelArrays:
    """An address table as arrays over its labels; ``providers`` are numbered as given."""

    table: PrefixTable
    providers: tuple[str, ...]
    provider: NDArray[np.int8]
    is_cloud: Mask
    regions: pa.Array
    kinds: pa.Array

    @classmethod
    def of(cls, table: PrefixTable, providers: Sequence[str]) -> "LabelArrays":
        """The arrays of a table; the last entry of each is for the label -1."""
        labels = table.label_table()
        numbers = {name: i for i, name in enumerate(providers)}
        own = [numbers.get(name, NOWHERE) for name in labels["provider"].to_pylist()]
        rented = [k in (AddressKind.CLOUD, AddressKind.CDN) for k in labels["kind"].to_pylist()]
        return cls(
            table,
            tuple(providers),
            np.array([*own, NOWHERE], dtype=np.int8),
            np.array([*rented, False], dtype=bool),
            labels["region"].combine_chunks(),
            labels["kind"].combine_chunks(),
        )


@dataclass(frozen=True)
class CacheView:
    """The cached facts, indexed by address number; number 0 is for text that is not an address."""

    texts: list[str]
    packed: list[bytes]
    labels: Labels
    is_near: Mask


class AddressCache:
    """The distinct addresses of recent rows, numbered from 1."""

    def __init__(self, table: PrefixTable, inside: LocalNetworks) -> None:
        self._table, self._inside = table, inside
        self.is_named = inside.is_named
        self._clear()

    def _clear(self) -> None:
        self._known: dict[str, int] = {}
        self._texts, self._packed = [""], [b""]
        self._labels = np.full(1, NOWHERE, dtype=np.int32)
        self._near = np.zeros(1, dtype=bool)

    def encode(self, *columns: pa.ChunkedArray) -> tuple[CacheView, list[Numbers]]:
        """Encode columns of address text as int64 numbers, and return the view that they index."""
        if len(self._texts) > _MOST:
            self._clear()
        found = [self._number(column.combine_chunks()) for column in columns]
        self._label()
        return CacheView(self._texts, self._packed, self._labels, self._near), found

    def _number(self, column: pa.Array) -> Numbers:
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        known = self._known
        for text in texts:
            if text not in known:
                self._add(text)
        numbers = np.array([*map(known.get, texts, _zeros(len(texts))), 0], dtype=np.int64)
        at = encoded.indices.fill_null(len(texts)).to_numpy()
        return np.asarray(numbers[at])

    def _add(self, text: str) -> None:
        packed = pack_address(text)
        if packed:
            self._known[text] = len(self._texts)
            plain = len(packed) == 4 and ":" not in text
            self._texts.append(text if plain else write_packed(packed))
            self._packed.append(packed)

    def _label(self) -> None:
        """Label the addresses added since the last call."""
        new = self._packed[len(self._labels) :]
        if not new:
            return
        labels = np.full(len(new), NOWHERE, dtype=np.int32)
        near = np.zeros(len(new), dtype=bool)
        lengths = np.fromiter(map(len, new), dtype=np.int64, count=len(new))
        for n_bytes in (4, 16):
            rows = np.flatnonzero(lengths == n_bytes)
            own = b"".join([new[i] for i in rows.tolist()])
            labels[rows] = self._match(own, n_bytes)
            near[rows] = self._inside.hold(own, n_bytes)
        self._labels = np.concatenate([self._labels, labels])
        self._near = np.concatenate([self._near, near])

    def _match(self, joined: bytes, n_bytes: int) -> Labels:
        addresses = self._table.addresses
        if n_bytes == 4:
            return addresses.match_ipv4(np.frombuffer(joined, ">u4").astype(np.uint32))
        halves = np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)
        return addresses.match_ipv6(halves[:, 0].copy(), halves[:, 1].copy())


def _zeros(count: int) -> list[int]:
    return [0] * count


def write_packed(packed: bytes) -> str:
    """Return the canonical text of a packed address."""
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
