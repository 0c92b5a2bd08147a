"""Compiled loops over whole columns: labels of numbers, and of text as it lies in Arrow buffers.

Importing this module costs half a second, so that only ``cartography.addresses.matching`` does, for
columns long enough to gain by it.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from cartography.addresses.parsing import (
    LONGEST_TEXT,
    READ_BYTES,
    ROW_BYTES,
    Text,
    intrinsic,
    read_ipv4,
    read_ipv6,
    starts_like_ipv6,
)
from core.jit import compile_division

# Addresses that are read before any of them is looked up: reading is bound by the processor and
# looking up by memory, and each goes faster alone.
_BLOCK = 512
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MAPPED = np.uint64(0xFFFF)
Words = NDArray[np.uint64]
Ints = NDArray[np.int32]
# Words and cells of both levels of cartography.addresses.buckets.Buckets4.
Index4 = tuple[Words, Ints, Words, Ints]
# Lower halves of the starts, their labels, and both arrays of
# cartography.addresses.buckets.Buckets6.
Index6 = tuple[Words, Ints, Words, Ints]


def _emit_count(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


@intrinsic  # type: ignore[untyped-decorator]
def _count_bits(_context: Any, _bits: Any) -> Any:
    return types.uint64(types.uint64), _emit_count


@compile_division
def _entry(words: Words, cells: Ints, position: Any) -> Any:
    bucket = np.int64(position >> np.uint32(6)) * 2
    mask = _ALL >> np.uint64(np.uint32(63) - (position & np.uint32(63)))
    return cells[np.int64(words[bucket + 1] + _count_bits(words[bucket] & mask))]


@compile_division
def _match_block(
    block: NDArray[np.uint32],
    index: Index4,
    out: Ints,
    fine: NDArray[np.int64],
) -> None:
    """Labels of a block; the few addresses in cut /24s are gathered and finished behind it."""
    words, cells, fine_words, fine_cells = index
    n_fine = 0
    for i in range(len(block)):
        value = _entry(words, cells, block[i] >> np.uint32(8))
        out[i] = value - 1
        fine[n_fine] = i
        n_fine += value < 0
    for k in range(n_fine):
        i = fine[k]
        cut = np.uint32(-(out[i] + 2))
        inner = (cut << np.uint32(8)) | (block[i] & np.uint32(0xFF))
        out[i] = _entry(fine_words, fine_cells, inner) - 1


@compile_division
def match_ipv4(numbers: NDArray[np.uint32], index: Index4, out: Ints) -> None:
    """Labels of a column of IPv4 addresses."""
    fine = np.empty(_BLOCK + 1, dtype=np.int64)
    for begin in range(0, len(numbers), _BLOCK):
        end = min(begin + _BLOCK, len(numbers))
        _match_block(numbers[begin:end], index, out[begin:end], fine)


@compile_division
def _match_halves(
    high: Words, low: Words, index: Index6, place: NDArray[np.int64], out: Ints
) -> None:
    """Labels of IPv6 addresses, all of them led one step further at a time: binary search by the
    upper half, in which no step waits for the one before it."""
    _, labels, tops, ends = index
    place[: len(high)] = 0
    size = np.int64(len(tops))
    while size > 1:
        half = size >> 1
        for i in range(len(high)):
            place[i] += half * (tops[place[i] + half] <= high[i])
        size -= half
    for i in range(len(high)):
        if tops[place[i]] == high[i]:
            out[i] = _match_low(place[i], low[i], index)
        else:
            out[i] = labels[ends[place[i]]]


@compile_division
def _match_low(place: Any, low: Any, index: Index6) -> Any:
    """The label by the lower half, among the starts that share the upper one."""
    lows, labels, _, ends = index
    last = np.int64(ends[place])
    first = np.int64(ends[place - 1]) if place else np.int64(0)
    while last > first and lows[last] > low:
        middle = (first + last) >> 1
        if lows[middle + 1] <= low:
            first = middle + 1
        else:
            last = middle
    return labels[last]


@compile_division
def _match_mapped(high: Words, low: Words, index: Index4, out: Ints) -> None:
    """Put the labels of mapped addresses right: they are IPv4."""
    words, cells, fine_words, fine_cells = index
    for i in range(len(high)):
        if high[i] == 0 and low[i] >> np.uint64(32) == _MAPPED:
            number = np.uint32(low[i] & np.uint64(0xFFFFFFFF))
            value = _entry(words, cells, number >> np.uint32(8))
            if value < 0:
                inner = (np.uint32(-(value + 1)) << np.uint32(8)) | (number & np.uint32(0xFF))
                value = _entry(fine_words, fine_cells, inner)
            out[i] = value - 1


@compile_division
def match_ipv6(high: Words, low: Words, index4: Index4, index6: Index6, out: Ints) -> None:
    """Labels of a column of IPv6 addresses; a mapped one is read as IPv4."""
    place = np.empty(_BLOCK, dtype=np.int64)
    for begin in range(0, len(high), _BLOCK):
        end = min(begin + _BLOCK, len(high))
        _match_halves(high[begin:end], low[begin:end], index6, place, out[begin:end])
        _match_mapped(high[begin:end], low[begin:end], index4, out[begin:end])


@compile_division
def _read_block(
    offsets: Any, text: Text, first: Any, block: NDArray[np.uint32], others: NDArray[np.int64]
) -> Any:
    """Read the dotted quads of a block; how many rows are something else, and which."""
    n_others = 0
    for i in range(len(block)):
        begin, end = np.int64(offsets[first + i]), np.int64(offsets[first + i + 1])
        number = np.uint64(1) << np.uint64(32)
        if begin + ROW_BYTES <= len(text) and not starts_like_ipv6(text, begin, end):
            number = read_ipv4(text, begin, end)
        block[i] = np.uint32(number & np.uint64(0xFFFFFFFF))
        others[n_others] = i
        n_others += number >> np.uint64(32) != 0
    return n_others


@compile_division
def _read_other(text: Text, begin: Any, end: Any, row: Text) -> Any:
    """(high, low, sound) of a text that the fast reader left: IPv6, the end of a buffer, or
    nothing. Near the end of a buffer it is read from a copy, which may be read beyond."""
    size = end - begin
    if size < 2 or size > LONGEST_TEXT:
        return np.uint64(0), np.uint64(0), False
    if begin + READ_BYTES <= len(text):
        return read_ipv6(text, begin, end)
    for k in range(size):
        row[k] = text[begin + k]
    quad = read_ipv4(row, 0, size)
    if quad >> np.uint64(32) == 0:
        return np.uint64(0), (_MAPPED << np.uint64(32)) | quad, True
    return read_ipv6(row, 0, size)


@compile_division
def _read_others(
    offsets: Any, text: Text, first: Any, others: NDArray[np.int64], halves: NDArray[np.uint64]
) -> None:
    """Read the rows of a block that the fast reader left: two halves, and whether sound."""
    row = np.zeros(READ_BYTES, dtype=np.uint8)
    for k in range(len(others)):
        i = first + others[k]
        begin, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        high, low, sound = _read_other(text, begin, end, row)
        halves[0, k], halves[1, k], halves[2, k] = high, low, np.uint64(sound)


@compile_division
def match_text(offsets: Any, text: Text, index4: Index4, index6: Index6, out: Ints) -> None:
    """Labels of an Arrow string column, -1 for text that is not an address."""
    block = np.empty(_BLOCK, dtype=np.uint32)
    places = np.empty((2, _BLOCK + 1), dtype=np.int64)
    halves = np.empty((3, _BLOCK), dtype=np.uint64)
    found = np.empty(_BLOCK, dtype=np.int32)
    for first in range(0, len(out), _BLOCK):
        size = min(_BLOCK, len(out) - first)
        n = _read_block(offsets, text, first, block[:size], places[0])
        if n < size:
            _match_block(block[:size], index4, out[first : first + size], places[1])
        if n:
            others = places[0, :n]
            _read_others(offsets, text, first, others, halves)
            _match_halves(halves[0, :n], halves[1, :n], index6, places[1], found)
            _match_mapped(halves[0, :n], halves[1, :n], index4, found)
            for k in range(n):
                out[first + others[k]] = found[k] if halves[2, k] else -1
