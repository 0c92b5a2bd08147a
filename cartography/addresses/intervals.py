"""Nested prefixes flattened to disjoint intervals: one array of starts and one of labels.

The same for cloud prefixes and origin-AS tables: what a label means is not known here.
"""

import socket
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cartography.addresses.prefixes import BITS, read_prefix

NO_LABEL = -1
Labels = NDArray[np.int32]
_LOW64 = (1 << 64) - 1


@dataclass(frozen=True)
class Column:
    """A column of addresses or first addresses of one family.

    ``low`` is uint32 for IPv4. For IPv6 ``high`` and ``low`` are uint64, so that prefixes of every
    length up to /128 are exact.
    """

    family: int
    low: NDArray[Any]
    high: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, family: int, numbers: Iterable[int]) -> Self:
        """The column of whole numbers."""
        if family == 4:
            return cls(4, np.fromiter(numbers, dtype=np.uint32))
        listed = list(numbers)
        high = np.fromiter((n >> 64 for n in listed), dtype=np.uint64, count=len(listed))
        low = np.fromiter((n & _LOW64 for n in listed), dtype=np.uint64, count=len(listed))
        return cls(6, low, high)

    @classmethod
    def unpack(cls, family: int, packed: Iterable[bytes]) -> Self:
        """The column of packed addresses, all of this family."""
        joined = b"".join(packed)
        if family == 4:
            return cls(4, np.frombuffer(joined, dtype=">u4").astype(np.uint32))
        halves = np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)
        return cls(6, np.ascontiguousarray(halves[:, 1]), np.ascontiguousarray(halves[:, 0]))

    def __len__(self) -> int:
        return len(self.low)

    def keys(self) -> NDArray[Any]:
        """What numpy orders as the numbers are: IPv6 as sixteen bytes in network order."""
        if self.high is None:
            return self.low
        halves = np.empty((len(self), 2), dtype=">u8")
        halves[:, 0], halves[:, 1] = self.high, self.low
        return halves.view("S16").reshape(-1)

    @classmethod
    def from_keys(cls, family: int, keys: NDArray[Any]) -> Self:
        """The inverse of ``keys``."""
        if family == 4:
            return cls(4, keys.astype(np.uint32))
        halves = keys.astype("S16").view(">u8").reshape(-1, 2).astype(np.uint64)
        return cls(6, np.ascontiguousarray(halves[:, 1]), np.ascontiguousarray(halves[:, 0]))

    def numbers(self) -> list[int]:
        """Whole numbers."""
        if self.high is None:
            return [int(n) for n in self.low.tolist()]
        return [(h << 64) | n for h, n in zip(self.high.tolist(), self.low.tolist(), strict=True)]


@dataclass(frozen=True)
class Intervals:
    """Interval i runs from start i to the next start and carries ``labels[i]``, -1 for none.

    The first start is 0, so that every address is in an interval.
    """

    starts: Column
    labels: Labels

    @property
    def family(self) -> int:
        return self.starts.family

    def find(self, number: int) -> int:
        """The label of one address: two bisections and no start-up cost."""
        low, high = self._views
        if high is None:
            return int(self.labels[bisect_right(low, number) - 1])
        upper, lower = number >> 64, number & _LOW64
        begin, end = bisect_left(high, upper), bisect_right(high, upper)
        return int(self.labels[bisect_right(low, lower, begin, end) - 1])

    def find_column(self, column: Column) -> Labels:
        """The label of every address of a column."""
        return self.labels[np.searchsorted(self._keys, column.keys(), side="right") - 1]

    def shift(self, base: np.int32) -> "Intervals":
        """The same intervals with labels that count from ``base``."""
        moved = np.where(self.labels == NO_LABEL, self.labels, self.labels + base)
        return Intervals(self.starts, moved.astype(np.int32))

    @cached_property
    def _keys(self) -> NDArray[Any]:
        return self.starts.keys()

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview | None]:
        # A memory view gives plain numbers, five times as fast as an array does.
        low: Any = self.starts.low
        high: Any = self.starts.high
        return memoryview(low), None if high is None else memoryview(high)


@dataclass(frozen=True)
class Nest:
    """Prefixes flattened: intervals with positions of prefixes as labels, and for each prefix
    the position of the smallest other one around it, -1 for none."""

    intervals: Intervals
    parents: Labels


def flatten(firsts: Column, lengths: NDArray[np.uint8]) -> Nest:
    """Disjoint intervals of distinct nested prefixes, in any order.

    Behind the end of an inner prefix the outer one is open again; a gap has no label.
    """
    keys = firsts.keys()
    ends, has_end = _ends(firsts, lengths)
    zero = Column.of(firsts.family, [0]).keys()
    bounds = sort_distinct(np.concatenate([zero, keys, ends[has_end]]))
    begin = np.searchsorted(bounds, keys)
    end = np.where(has_end, np.searchsorted(bounds, ends), len(bounds))
    painted, parents = _paint(begin, end, lengths, len(bounds))
    kept = np.flatnonzero(np.diff(painted, prepend=NO_LABEL - 1))
    starts = Column.from_keys(firsts.family, bounds[kept])
    return Nest(Intervals(starts, painted[kept]), parents)


def read_prefixes(family: int, texts: list[str]) -> tuple[Column, NDArray[np.uint8]]:
    """First addresses and lengths of prefixes of one family; raises ``ValueError`` for a text that
    is none."""
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    try:
        parts = [text.split("/") for text in texts]
        if not all(digits.isascii() and digits.isdigit() for _, digits in parts):
            raise ValueError
        firsts = Column.unpack(family, [socket.inet_pton(kind, address) for address, _ in parts])
        lengths = np.array([int(digits) for _, digits in parts], dtype=np.uint8)
    except (OSError, ValueError, OverflowError):
        # One after the other, so that the first that is wrong is named with its reason.
        rows = [read_prefix(text) for text in texts]
        firsts = Column.of(family, (first for _, first, _ in rows))
        lengths = np.array([length for _, _, length in rows], dtype=np.uint8)
    wrong = np.flatnonzero((lengths > BITS[family]) | has_host_bits(firsts, lengths))
    for at in wrong.tolist():
        read_prefix(texts[at])
    return firsts, lengths


def has_host_bits(firsts: Column, lengths: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which prefixes have bits set behind their length."""
    host = BITS[firsts.family] - np.minimum(lengths, BITS[firsts.family]).astype(np.uint64)
    one, low = np.uint64(1), firsts.low.astype(np.uint64)
    # A shift by 64 has no effect, so the whole lower half is a separate case.
    below = (one << np.minimum(host, np.uint64(63))) - one
    below = np.where(host >= 64, np.uint64(_LOW64), below)
    found: NDArray[np.bool_] = (low & below) != 0
    if firsts.high is not None:
        above = (one << np.where(host > 64, host - np.uint64(64), np.uint64(0))) - one
        found |= (firsts.high & above) != 0
    return found


def sort_distinct(keys: NDArray[Any]) -> NDArray[Any]:
    """Keys in order, each once. Sorting finds the runs that are in order already; ``np.unique``
    hashes, which takes fifty times as long here."""
    ordered = np.sort(keys, kind="stable")
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _paint(
    begin: NDArray[np.intp], end: NDArray[np.intp], lengths: NDArray[np.uint8], n_bounds: int
) -> tuple[Labels, Labels]:
    """Overlay prefixes, wide ones first; prefixes of one length never meet."""
    painted = np.full(n_bounds, NO_LABEL, dtype=np.int32)
    parents = np.full(len(begin), NO_LABEL, dtype=np.int32)
    for length in np.unique(lengths):
        chosen = np.flatnonzero(lengths == length)
        parents[chosen] = painted[begin[chosen]]
        sizes = end[chosen] - begin[chosen]
        shifts = np.repeat(begin[chosen] - np.cumsum(sizes) + sizes, sizes)
        painted[np.arange(len(shifts)) + shifts] = np.repeat(chosen, sizes)
    return painted, parents


def _ends(firsts: Column, lengths: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The key behind each prefix, and whether there is one: the last prefix has none."""
    host_bits = BITS[firsts.family] - lengths.astype(np.uint64)
    if firsts.high is None:
        ends = firsts.low.astype(np.uint64) + (np.uint64(1) << host_bits)
        return ends.astype(np.uint32), ends < np.uint64(1 << 32)
    wide = host_bits >= 64
    one = np.uint64(1)
    low = firsts.low + np.where(wide, 0, one << np.where(wide, 0, host_bits)).astype(np.uint64)
    carry = np.where(wide, one << np.where(wide, host_bits - 64, 0).astype(np.uint64), 0)
    carry = np.where(~wide & (low < firsts.low), 1, carry).astype(np.uint64)
    high = firsts.high + carry
    has_end = (high > firsts.high) | ((high == firsts.high) & (low > firsts.low))
    return Column(6, low, high).keys(), has_end


def join_ranges(family: int, ranges: Iterable[tuple[int, int, int]]) -> Intervals:
    """Intervals of (first, last, label) rows that are in order; raises ``ValueError`` where two
    overlap."""
    marks = {0: NO_LABEL}
    rows = list(ranges)
    for (_, last, _), (first, _, _) in pairwise(rows):
        if first <= last:
            raise ValueError(f"two ranges overlap at {first}")
    for first, last, label in rows:
        marks[first] = label
        marks[last + 1] = NO_LABEL
    marks.pop(1 << BITS[family], None)
    labels = np.fromiter(marks.values(), dtype=np.int32, count=len(marks))
    return Intervals(Column.of(family, marks), labels)
