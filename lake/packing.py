"""Deduplicate the facts of a long Parquet file, each of three small numbers.

Name, type and value fill one 64-bit word, which identifies a fact without hashing: there are no
collisions, and half the memory of ``lake.distinct`` is touched.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.jit import compile_division

Words = NDArray[np.uint64]
_BATCH_ROWS = 1 << 18
_FIRST_SLOTS = 1 << 20
# 256 MiB of facts; a file with more of them is deduplicated by the database.
MAX_SLOTS = 1 << 25
# With two bits for the type, 32 for the value, and one that is always set: a free slot holds zero.
_NAME_BITS, _TYPE_BITS = 29, 2
_KINDS = (pa.uint32(), pa.uint16(), pa.uint32())
# An odd number with bits set at random (the golden ratio's): neighbours get slots far apart.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
# Number of rows with slots fetched together, each without waiting for the one before.
_BLOCK = 512
_UNKNOWN = 255


@compile_division
def _pack(
    columns: tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint32]],
    codes: NDArray[np.uint8],
    packed: Words,
) -> Any:
    """Words of the rows with a coded type; how many, or -1 where a number does not fit."""
    names, types, values = columns
    n = 0
    largest = np.uint32(0)
    for row in range(len(names)):
        code = codes[types[row]]
        word = (np.uint64(names[row]) << np.uint64(_TYPE_BITS)) | np.uint64(code & 3)
        packed[n] = (np.uint64(1) << np.uint64(63)) | (word << _HALF) | np.uint64(values[row])
        n += code != _UNKNOWN
        largest = max(largest, names[row])
    return n if largest >> np.uint32(_NAME_BITS) == 0 else -1


@compile_division
def _slot(word: Any, slots: Words) -> Any:
    """The position of a word, or the free slot where it would."""
    mask = np.uint64(len(slots) - 1)
    at = ((word * _SPREAD) >> _HALF) & mask
    while slots[np.int64(at)] != 0 and slots[np.int64(at)] != word:
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@compile_division
def _mark_unknown(words: Words, slots: Words, rows: NDArray[np.int64], begin: Any) -> Any:
    """Rows that are not in their first slot, which few are where facts repeat; how many."""
    mask = np.uint64(len(slots) - 1)
    n = 0
    for row in range(begin, min(begin + _BLOCK, len(words))):
        rows[n] = row
        n += slots[np.int64(((words[row] * _SPREAD) >> _HALF) & mask)] != words[row]
    return n


@compile_division
def _insert_new(words: Words, slots: Words) -> Any:
    """Insert words into the slots, move the new ones to the front, and return their number."""
    rows = np.empty(_BLOCK, np.int64)
    n_new = 0
    for begin in range(0, len(words), _BLOCK):
        for k in range(_mark_unknown(words, slots, rows, begin)):
            word = words[rows[k]]
            at = _slot(word, slots)
            if slots[at] == 0:
                slots[at] = word
                words[n_new] = word
                n_new += 1
    return n_new


@compile_division
def _move(slots: Words, larger: Words) -> None:
    for at in range(len(slots)):
        if slots[at] != 0:
            larger[_slot(slots[at], larger)] = slots[at]


def distinct_facts(
    path: Path, columns: Sequence[str], types: Sequence[int], max_slots: int = MAX_SLOTS
) -> pa.Table | None:
    """The distinct rows of three columns (name, type, value) with at most four types.

    ``None`` where they are not numbers of 29, 16 and 32 bits, or too many for the set.
    """
    codes = np.full(1 << 16, _UNKNOWN, np.uint8)
    codes[list(types)] = np.arange(len(types))
    found: list[Words] = []
    slots, count = np.zeros(_FIRST_SLOTS, np.uint64), 0
    for words in _words(path, columns, codes):
        room = None if words is None else _reserve(slots, count + len(words), max_slots)
        if words is None or room is None:
            return None
        slots = room
        found.append(words[: _insert_new(words, slots)].copy())
        count += len(found[-1])
    return _unpack(np.concatenate([*found, np.zeros(0, np.uint64)]), columns, types)


def _words(path: Path, columns: Sequence[str], codes: NDArray[np.uint8]) -> Iterator[Words | None]:
    file = pq.ParquetFile(path, memory_map=True)
    packed = np.empty(_BATCH_ROWS, np.uint64)
    # Threads cost three times as much here as they save time.
    for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns), use_threads=False):
        own = _numbers([batch[name] for name in columns])
        n = -1 if own is None else _pack(own, codes, packed)
        yield packed[:n] if n >= 0 else None


def _numbers(columns: list[pa.Array]) -> tuple[Any, Any, Any] | None:
    if any(column.null_count for column in columns):
        columns = pa.table(columns, names=list("abc")).drop_null().combine_chunks().columns
    try:
        names, types, values = (
            column.cast(kind).to_numpy() for column, kind in zip(columns, _KINDS, strict=True)
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return names, types, values


def _reserve(slots: Words, count: int, max_slots: int) -> Words | None:
    while 2 * count > len(slots):
        if 2 * len(slots) > max_slots:
            return None
        larger = np.zeros(2 * len(slots), np.uint64)
        _move(slots, larger)
        slots = larger
    return slots


def _unpack(words: Words, columns: Sequence[str], types: Sequence[int]) -> pa.Table:
    upper = (words >> _HALF).astype(np.uint32) & np.uint32((1 << 31) - 1)
    kinds = np.array(types, np.uint8)[upper & np.uint32(3)]
    arrays = [upper >> np.uint32(_TYPE_BITS), kinds, words.astype(np.uint32)]
    return pa.table([pa.array(own) for own in arrays], names=list(columns))
