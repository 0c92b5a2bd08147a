"""Compiled loops over whole columns: labels of numbers, and of text as it lies in Arrow buffers.

Importing this module costs half a second, so that only ``cartography.matching`` does, for columns
long enough to gain by it.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from cartography.parsing import (
    LONGEST_TEXT,
    ROW_BYTES,
    Text,
    compile_loop,
    intrinsic,
    read_ipv4,
    read_ipv6,
)

# Addresses that are read before any of them is looked up: reading is bound by the processor and
# looking up by memory, and each goes faster alone.
_BLOCK = 512
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MAPPED = np.uint64(0xFFFF)
Words = NDArray[np.uint64]
Ints = NDArray[np.int32]
# Words and cells of both levels of cartography.buckets.Buckets4.
Index4 = tuple[Words, Ints, Words, Ints]
# High and low halves of the starts, their labels, and cartography.buckets.Buckets6.
Index6 = tuple[Words, Words, Ints, Ints]


def _emit_count(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


@intrinsic  # type: ignore[untyped-decorator]
def _count_bits(_context: Any, _bits: Any) -> Any:
    return types.uint64(types.uint64), _emit_count


@compile_loop
def _entry(words: Words, cells: Ints, position: Any) -> Any:
    bucket = np.int64(position >> np.uint32(6)) * 2
    mask = _ALL >> np.uint64(np.uint32(63) - (position & np.uint32(63)))
    return cells[np.int64(words[bucket + 1] + _count_bits(words[bucket] & mask))]


@compile_loop
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


@compile_loop
def match_ipv4(numbers: NDArray[np.uint32], index: Index4, out: Ints) -> None:
    """Labels of a column of IPv4 addresses."""
    fine = np.empty(_BLOCK + 1, dtype=np.int64)
    for begin in range(0, len(numbers), _BLOCK):
        end = min(begin + _BLOCK, len(numbers))
        _match_block(numbers[begin:end], index, out[begin:end], fine)


@compile_loop
def _search_ipv6(high: Any, low: Any, table: Index6) -> Any:
    """The label of one IPv6 address: binary search within its /16."""
    highs, lows, labels, tops = table
    top = np.int64(high >> np.uint64(48))
    begin, size = np.int64(tops[top]) - 1, np.int64(tops[top + 1]) - np.int64(tops[top]) + 1
    begin = np.int64(0) if begin < 0 else begin
    while size > 1:
        half = size >> 1
        middle = begin + half
        above = (highs[middle] < high) | ((highs[middle] == high) & (lows[middle] <= low))
        begin = middle if above else begin
        size -= half
    return labels[begin]


@compile_loop
def _match_one(high: Any, low: Any, index4: Index4, index6: Index6) -> Any:
    """The label of one IPv6 address; a mapped one is read as IPv4."""
    if high != 0 or low >> np.uint64(32) != _MAPPED:
        return _search_ipv6(high, low, index6)
    words, cells, fine_words, fine_cells = index4
    number = np.uint32(low & np.uint64(0xFFFFFFFF))
    value = _entry(words, cells, number >> np.uint32(8))
    if value < 0:
        inner = (np.uint32(-(value + 1)) << np.uint32(8)) | (number & np.uint32(0xFF))
        value = _entry(fine_words, fine_cells, inner)
    return value - 1


@compile_loop
def match_ipv6(high: Words, low: Words, index4: Index4, index6: Index6, out: Ints) -> None:
    """Labels of a column of IPv6 addresses."""
    for i in range(len(high)):
        out[i] = _match_one(high[i], low[i], index4, index6)


@compile_loop
def _match_other(row: Text, size: Any, index4: Index4, index6: Index6) -> Any:
    """The label of a text that the fast reader left: IPv6, the end of a buffer, or nothing."""
    if 7 <= size <= 15:
        quad = read_ipv4(row, 0, size)
        if quad >> np.uint64(32) == 0:
            return _match_one(np.uint64(0), (_MAPPED << np.uint64(32)) | quad, index4, index6)
    high, low, sound = read_ipv6(row, size)
    return _match_one(high, low, index4, index6) if sound else np.int32(-1)


@compile_loop
def _read_block(
    offsets: Any, text: Text, first: Any, block: NDArray[np.uint32], others: NDArray[np.int64]
) -> Any:
    """Read the dotted quads of a block; how many rows are something else, and which."""
    n_others = 0
    for i in range(len(block)):
        begin, end = np.int64(offsets[first + i]), np.int64(offsets[first + i + 1])
        number = np.uint64(1) << np.uint64(32)
        if begin + ROW_BYTES <= len(text):
            number = read_ipv4(text, begin, end)
        block[i] = np.uint32(number & np.uint64(0xFFFFFFFF))
        others[n_others] = i
        n_others += number >> np.uint64(32) != 0
    return n_others


@compile_loop
def match_text(offsets: Any, text: Text, index4: Index4, index6: Index6, out: Ints) -> None:
    """Labels of an Arrow string column, -1 for text that is no address."""
    block = np.empty(_BLOCK, dtype=np.uint32)
    fine = np.empty(_BLOCK + 1, dtype=np.int64)
    others = np.empty(_BLOCK + 1, dtype=np.int64)
    row = np.zeros(LONGEST_TEXT + ROW_BYTES, dtype=np.uint8)
    for first in range(0, len(out), _BLOCK):
        size = min(_BLOCK, len(out) - first)
        n_others = _read_block(offsets, text, first, block[:size], others)
        _match_block(block[:size], index4, out[first : first + size], fine)
        for k in range(n_others):
            i = first + others[k]
            begin, length = np.int64(offsets[i]), np.int64(offsets[i + 1]) - np.int64(offsets[i])
            out[i] = -1
            if 2 <= length <= LONGEST_TEXT:
                row[:length] = text[begin : begin + length]
                out[i] = _match_other(row, length, index4, index6)
