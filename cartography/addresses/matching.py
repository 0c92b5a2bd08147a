"""One table of both families: labels of single addresses, and of whole columns.

A single address costs two microseconds and needs nothing compiled. Long columns go through
``cartography.addresses.kernels``, which is loaded at the first of them.
"""

import importlib
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cartography.addresses.buckets import Buckets4, Buckets6, index_ipv4, index_ipv6
from cartography.addresses.intervals import NO_LABEL, Column, Intervals, Labels
from cartography.addresses.prefixes import BITS, pack_address

# Loading the kernels takes as long as finding this many addresses without them.
_WORTH_LOADING = 200_000
_KERNELS = "cartography.addresses.kernels"
_MAPPED_HIGH, _MAPPED_LOW = 0, 0xFFFF


class AddressMap:
    """Intervals of both families with their bucket indexes; immutable, so threads may share it."""

    def __init__(
        self,
        ipv4: Intervals,
        ipv6: Intervals,
        buckets: tuple[Buckets4, Buckets6] | None = None,
    ) -> None:
        self.families = {4: ipv4, 6: ipv6}
        self._buckets = buckets

    def find(self, address: str) -> int:
        """The label of one address, -1 for none and for text that is not an address."""
        packed = pack_address(address)
        if not packed:
            return NO_LABEL
        return self.families[4 if len(packed) == 4 else 6].find(int.from_bytes(packed))

    def find_texts(self, addresses: Sequence[str]) -> Labels:
        """The label of each address; quick for thousands, see ``match_text`` for millions."""
        packed = [pack_address(address) for address in addresses]
        found = np.full(len(packed), NO_LABEL, dtype=np.int32)
        for family, intervals in self.families.items():
            own = [i for i, key in enumerate(packed) if len(key) == BITS[family] // 8]
            if own:
                found[own] = intervals.find_column(Column.unpack(family, (packed[i] for i in own)))
        return found

    def match_ipv4(self, numbers: NDArray[np.uint32]) -> Labels:
        """Labels of a column of IPv4 addresses as numbers."""
        kernels = _kernels(len(numbers))
        if kernels is None:
            return self.families[4].find_column(Column(4, numbers))
        out = np.empty(len(numbers), dtype=np.int32)
        kernels.match_ipv4(_sealed(numbers, np.uint32), self._index4, out)
        return out

    def match_ipv6(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Labels:
        """Labels of IPv6 addresses as two columns of 64 bits; mapped ones are read as IPv4."""
        kernels = _kernels(len(high))
        if kernels is None:
            return self._match_halves(high, low)
        out = np.empty(len(high), dtype=np.int32)
        halves = _sealed(high, np.uint64), _sealed(low, np.uint64)
        kernels.match_ipv6(*halves, self._index4, self._index6, out)
        return out

    def match_text(self, column: pa.Array | pa.ChunkedArray) -> Labels:
        """Labels of a text column as it lies in Arrow's buffers, of both families mixed; -1 for
        text that is not an address, and for null."""
        if isinstance(column, pa.ChunkedArray):
            parts = [self.match_text(chunk) for chunk in column.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
        if pa.types.is_dictionary(column.type):
            return self._match_dictionary(column)
        kernels = _kernels(len(column))
        if kernels is None:
            return self.find_texts(["" if text is None else text for text in column.to_pylist()])
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            column = column.cast(pa.large_string())
        return self._match_buffers(kernels, column)

    def _match_dictionary(self, column: pa.DictionaryArray) -> Labels:
        found = np.append(self.match_text(column.dictionary), np.int32(NO_LABEL))
        rows = column.indices.cast(pa.int64()).fill_null(len(found) - 1)
        labels: Labels = found[rows.to_numpy(zero_copy_only=False)]
        return labels

    def _match_buffers(self, kernels: Any, column: pa.Array) -> Labels:
        out = np.empty(len(column), dtype=np.int32)
        _, offsets, text = column.buffers()
        kind = np.int64 if pa.types.is_large_string(column.type) else np.int32
        bounds = np.frombuffer(offsets, dtype=kind) if offsets else np.zeros(1, dtype=kind)
        bounds = bounds[column.offset : column.offset + len(column) + 1]
        data = np.frombuffer(text, dtype=np.uint8) if text else np.empty(0, dtype=np.uint8)
        arguments = _sealed(bounds, kind), _sealed(data, np.uint8)
        kernels.match_text(*arguments, self._index4, self._index6, out)
        if column.null_count:
            out[column.is_null().to_numpy(zero_copy_only=False)] = NO_LABEL
        return out

    def _match_halves(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Labels:
        found = self.families[6].find_column(Column(6, low, high))
        mapped = (high == _MAPPED_HIGH) & (low >> np.uint64(32) == _MAPPED_LOW)
        if mapped.any():
            numbers = (low[mapped] & np.uint64(0xFFFFFFFF)).astype(np.uint32)
            found[mapped] = self.families[4].find_column(Column(4, numbers))
        return found

    @cached_property
    def buckets(self) -> tuple[Buckets4, Buckets6]:
        """The bucket indexes; made at first need where they were not given."""
        return self._buckets or (index_ipv4(self.families[4]), index_ipv6(self.families[6]))

    @cached_property
    def _index4(self) -> tuple[NDArray[Any], ...]:
        found = self.buckets[0]
        return (
            _sealed(found.words, np.uint64),
            _sealed(found.cells, np.int32),
            _sealed(found.fine_words, np.uint64),
            _sealed(found.fine_cells, np.int32),
        )

    @cached_property
    def _index6(self) -> tuple[NDArray[Any], ...]:
        own = self.families[6]
        return (
            _sealed(own.starts.low, np.uint64),
            _sealed(own.labels, np.int32),
            _sealed(self.buckets[1].tops, np.uint64),
            _sealed(self.buckets[1].ends, np.int32),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, bucket indexes included."""
        own: list[Any] = [self.families[4].starts.low, self.families[4].labels]
        own += [self.families[6].starts.high, *self._index4, *self._index6]
        return sum(array.nbytes for array in own)


def _kernels(n_rows: int) -> Any:
    """The compiled loops where they are loaded or worth loading, else ``None``."""
    if n_rows < _WORTH_LOADING and _KERNELS not in sys.modules:
        return None
    try:
        return importlib.import_module(_KERNELS)
    except ImportError:  # numba has no build for this machine: numpy is slower, and right
        return None


def _sealed(array: Any, kind: Any) -> NDArray[Any]:
    """A read-only contiguous view: memory-mapped or not, the compiled code is the same."""
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view
