"""Compiled loops behind ``lake.distinct``: columns are mixed into keys, and keys put into a set.

Loaded by those who read long files only, since it takes half a second.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from core.jit import compile_division

Keys = NDArray[np.uint64]
# Odd numbers with bits set at random: the golden ratio's, and those of xxHash.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)
_SHIFT = np.uint64(29)
_WORD = 8
# Number of rows with slots fetched together, each without waiting for the one before.
_BLOCK = 1024
# A numba intrinsic is called without its first parameter, which no type can express.
intrinsic: Any = numba.extending.intrinsic


def _emit_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = cgutils.pointer_add(builder, array.data, arguments[1])  # type: ignore[no-untyped-call]
    word = ir.IntType(64)
    return builder.load(builder.bitcast(place, word.as_pointer()), align=1)


@intrinsic  # type: ignore[untyped-decorator]
def _load(_context: Any, array: Any, at: Any) -> Any:
    """Eight bytes from any place of an array, as one number."""
    return types.uint64(array, types.int64), _emit_load


@compile_division
def _mix(keys: Keys, row: int, word: Any) -> None:
    first = (keys[row, 0] ^ word) * _FIRST
    second = (keys[row, 1] + word) * _SECOND
    keys[row, 0] = first ^ (first >> _HALF)
    keys[row, 1] = second ^ (second >> _SHIFT)


@compile_division
def _tail(text: NDArray[np.uint8], at: Any, end: Any) -> Any:
    """What is left of a text, less than eight bytes."""
    word = np.uint64(0)
    for position in range(end - 1, at - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(text[position])
    return word


@compile_division
def _mix_text(keys: Keys, row: int, text: NDArray[np.uint8], span: Any) -> None:
    at, end = np.int64(span[0]), np.int64(span[1])
    _mix(keys, row, np.uint64(end - at))
    while at + _WORD <= end:
        _mix(keys, row, _load(text, at))
        at += _WORD
    if at < end:
        if at + _WORD <= len(text):
            left = np.uint64(_WORD * (end - at))
            _mix(keys, row, _load(text, at) & ((np.uint64(1) << left) - np.uint64(1)))
        else:
            _mix(keys, row, _tail(text, at, end))


@compile_division
def mix_texts(bounds: NDArray[np.int32], text: NDArray[np.uint8], keys: Keys) -> None:
    """Mix one text per row, and its length, into the keys."""
    for row in range(len(keys)):
        _mix_text(keys, row, text, (bounds[row], bounds[row + 1]))


@compile_division
def mix_coded(
    codes: NDArray[np.int32], bounds: NDArray[np.int32], text: NDArray[np.uint8], keys: Keys
) -> None:
    """The same for rows that name their text by its number."""
    for row in range(len(keys)):
        code = np.int64(codes[row])
        _mix_text(keys, row, text, (bounds[code], bounds[code + 1]))


@compile_division
def mix_numbers(values: NDArray[np.int64], keys: Keys) -> None:
    """Mix one number per row into the keys."""
    for row in range(len(keys)):
        _mix(keys, row, np.uint64(values[row]))


@compile_division
def _slot(first: Any, second: Any, slots: Keys) -> Any:
    """The position of a key, or the free slot where it would."""
    mask = np.uint64(len(slots) - 1)
    at = (first ^ (second >> _HALF)) & mask
    while True:
        here, beside = slots[np.int64(at), 0], slots[np.int64(at), 1]
        if (here == first and beside == second) or (here == 0 and beside == 0):
            return np.int64(at)
        at = (at + np.uint64(1)) & mask


@compile_division
def _mark_known(keys: Keys, slots: Keys, known: NDArray[np.bool_], span: Any) -> None:
    """Rows with their key in its first slot: most of them, where rows repeat."""
    mask = np.uint64(len(slots) - 1)
    for row in range(span[0], span[1]):
        first, second = keys[row, 0] | np.uint64(1), keys[row, 1]
        at = np.int64((first ^ (second >> _HALF)) & mask)
        known[row - span[0]] = (slots[at, 0] == first) & (slots[at, 1] == second)


@compile_division
def find_new(keys: Keys, slots: Keys, fresh: NDArray[np.bool_]) -> int:
    """Put keys into the slots; marks and counts those that were not there."""
    count = 0
    known = np.zeros(_BLOCK, np.bool_)
    for begin in range(0, len(keys), _BLOCK):
        end = min(begin + _BLOCK, len(keys))
        _mark_known(keys, slots, known, (begin, end))
        for row in range(begin, end):
            if known[row - begin]:
                continue
            # Two zeros mean a free slot.
            first, second = keys[row, 0] | np.uint64(1), keys[row, 1]
            at = _slot(first, second, slots)
            if slots[at, 0] == 0:
                slots[at, 0], slots[at, 1] = first, second
                fresh[row] = True
                count += 1
    return count


@compile_division
def move_keys(slots: Keys, larger: Keys) -> None:
    """Put all keys of one set of slots into a larger one."""
    for at in range(len(slots)):
        if slots[at, 0] != 0:
            place = _slot(slots[at, 0], slots[at, 1], larger)
            larger[place, 0], larger[place, 1] = slots[at, 0], slots[at, 1]
