"""Compiled loops: dictionary-encode spans of a text by an open-addressing hash table.

A span is an int64: begin << SPAN_BITS | length, negative for none."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.campaigns.importers.json_tokens import hash_octets
from analysis.campaigns.importers.ripe_atlas_scan import SPAN_BITS
from core.jit import compile_loop

_LENGTH = (1 << SPAN_BITS) - 1
# Fibonacci hashing: the upper bits of the product are the slot.
_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
# A text of at most 15 digits and dots (IPv4) is its own key: four bits per character.
_CODES = np.zeros(256, np.int64)
_CODES[np.frombuffer(b"0123456789.", np.uint8)] = np.arange(1, 12)
_MAX_PACKED = 15
# Keys of other texts are hashes, marked negative, and may collide.
_LONG_TEXT = np.uint64(1 << 63)
_FIRST_BITS = 16


@compile_loop
def hash_key(text: Any, begin: Any, length: Any) -> Any:
    """Return the key of a text: positive if unique, else a hash."""
    key = np.int64(1)
    if length <= _MAX_PACKED:
        for i in range(begin, begin + length):
            code = _CODES[text[i]]
            if code == 0:
                key = np.int64(0)
                break
            key = key << 4 | code
        if key > 0:
            return key
    return np.int64(hash_octets(text, begin, begin + length) | _LONG_TEXT)


@compile_loop
def is_same(text: Any, one: Any, other: Any) -> Any:
    """Return whether two spans have equal bytes."""
    if one & _LENGTH != other & _LENGTH:
        return False
    first, second = one >> SPAN_BITS, other >> SPAN_BITS
    length, i = one & _LENGTH, 0
    while i < length and text[first + i] == text[second + i]:
        i += 1
    return i == length


@compile_loop
def number_spans(text: Any, spans: Any, slots: Any, distinct: Any, out: Any, known: Any) -> Any:
    """Write the code of each span to ``out``; return the number of distinct texts.

    ``slots`` (2**bits, 2) int64 are (key, code), code -1 if empty; ``known`` texts are in
    ``distinct`` before. Return -1 when the table is too small.
    """
    mask = len(slots) - 1
    shift = np.uint64(64 - int(np.log2(len(slots)) + 0.5))
    for row in range(len(spans)):
        if spans[row] < 0:
            out[row] = -1
            continue
        key = hash_key(text, spans[row] >> SPAN_BITS, spans[row] & _LENGTH)
        place = np.int64((np.uint64(key) * _SPREAD) >> shift)
        while slots[place, 1] >= 0:
            found = slots[place, 1]
            if slots[place, 0] == key and (key > 0 or is_same(text, distinct[found], spans[row])):
                break
            place = (place + 1) & mask
        if slots[place, 1] < 0:
            if 2 * known >= len(slots):
                return -1
            slots[place, 0], slots[place, 1], distinct[known] = key, known, spans[row]
            known += 1
        out[row] = slots[place, 1]
    return known


@compile_loop
def copy_texts(text: Any, distinct: Any, offsets: Any, out: Any) -> None:
    """Copy the bytes of all distinct texts to ``out`` at ``offsets``."""
    for number in range(len(distinct)):
        begin = distinct[number] >> SPAN_BITS
        for i in range(distinct[number] & _LENGTH):
            out[offsets[number] + i] = text[begin + i]


def number_texts(
    text: NDArray[np.uint8], columns: list[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int32]], pa.Array]:
    """Return columns of spans as codes, (n,) int32 (-1 for none), and the distinct texts."""
    distinct = np.empty(sum(map(len, columns)) + 1, np.int64)
    bits = _FIRST_BITS
    while True:
        slots = np.full((1 << bits, 2), -1, np.int64)
        found = [np.empty(len(spans), np.int32) for spans in columns]
        known = 0
        for spans, out in zip(columns, found, strict=True):
            known = number_spans(text, spans, slots, distinct, out, known) if known >= 0 else -1
        if known >= 0:
            return found, _dictionary(text, distinct[:known])
        bits += 2


def _dictionary(text: NDArray[np.uint8], distinct: NDArray[np.int64]) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(distinct & _LENGTH)]).astype(np.int64)
    out = np.empty(offsets[-1], np.uint8)
    copy_texts(text, distinct, offsets, out)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.string(), len(distinct), buffers)
