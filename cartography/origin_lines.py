"""The lines ``a.b.c.d/length TAB AS`` of a file, all at once.

In go half a million lines as bytes; out come three columns, and the few lines of another form.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Signs of a plain line: digits, and six separators that stand in this order.
_ORDER = np.frombuffer(b".../\t\n", dtype=np.uint8)
_SEPARATOR, _OTHER = 1, 2
_CLASS = np.full(256, _OTHER, dtype=np.uint8)
_CLASS[ord("0") : ord("9") + 1] = 0
_CLASS[_ORDER] = _SEPARATOR
# Most digits of a part of an address, of a length and of an AS number.
_MOST_DIGITS = (3, 3, 3, 3, 2, 10)


@dataclass(frozen=True, slots=True)
class Regular:
    """IPv4 prefixes and one origin each, in the order of their lines."""

    firsts: NDArray[np.uint32]
    lengths: NDArray[np.uint8]
    origins: NDArray[np.int64]


def read_regular(plain: bytes) -> tuple[Regular, list[tuple[int, bytes]]]:
    """Columns of the plain lines, and all others with their numbers: comments, other families,
    several origins, and lines that are no prefix at all."""
    data = np.frombuffer(plain + b"\n", dtype=np.uint8)
    kinds = _CLASS[data]
    line_ends = np.flatnonzero(data == ord("\n"))
    regular = _well_formed(data, kinds, line_ends)
    marked = np.repeat(regular, np.diff(line_ends, prepend=-1))
    values, sound = _values(data[marked], kinds[marked])
    chosen = np.flatnonzero(regular)
    regular[chosen[~sound]] = False
    first = np.zeros(int(sound.sum()), dtype=np.int64)
    for part in values[:4]:
        first = (first << 8) | part[sound]
    columns = Regular(first.astype(np.uint32), values[4][sound].astype(np.uint8), values[5][sound])
    return columns, _others(plain, line_ends, regular)


def _well_formed(
    data: NDArray[np.uint8], kinds: NDArray[np.uint8], line_ends: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which lines consist of digits and the six separators in their order."""
    separators = np.flatnonzero(kinds == _SEPARATOR)
    behind = np.searchsorted(separators, line_ends, side="right")
    before = np.concatenate([[0], behind[:-1]])
    good: NDArray[np.bool_] = behind - before == len(_ORDER)
    for at, sign in enumerate(_ORDER):
        where = np.minimum(before + at, len(separators) - 1)
        good &= data[separators[where]] == sign
    strange = np.searchsorted(line_ends, np.flatnonzero(kinds == _OTHER))
    good[strange] = False
    return good


def _values(
    data: NDArray[np.uint8], kinds: NDArray[np.uint8]
) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """The six numbers of each line, and which lines have them all within their bounds."""
    ends = np.flatnonzero(kinds == _SEPARATOR)
    sizes = np.diff(ends, prepend=-1) - 1
    sound = np.ones(len(ends) // 6, dtype=np.bool_)
    values = []
    for column, most in enumerate(_MOST_DIGITS):
        end, size = ends[column::6], sizes[column::6]
        sound &= (size >= 1) & (size <= most)
        sound &= (size == 1) | (data[np.maximum(end - size, 0)] != ord("0"))
        values.append(_number(data, end, np.minimum(size, most)))
    return values, sound & _within_bounds(values)


def _within_bounds(values: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Parts of at most 255, a length of at most 32, a 32-bit AS, and no bits behind the prefix."""
    a, b, c, d, length, origin = values
    host = (np.int64(1) << (32 - np.minimum(length, 32))) - 1
    first = (a << 24) | (b << 16) | (c << 8) | d
    good: NDArray[np.bool_] = (np.maximum.reduce([a, b, c, d]) <= 255) & (first & host == 0)
    return good & (length <= 32) & (origin < 1 << 32)


def _number(data: NDArray[np.uint8], ends: Any, sizes: Any) -> NDArray[np.int64]:
    number, power = np.zeros(len(ends), dtype=np.int64), 1
    for place in range(int(sizes.max(initial=0))):
        digit = data[np.maximum(ends - 1 - place, 0)].astype(np.int64) - ord("0")
        number += np.where(sizes > place, digit * power, 0)
        power *= 10
    return number


def _others(
    plain: bytes, line_ends: NDArray[np.intp], regular: NDArray[np.bool_]
) -> list[tuple[int, bytes]]:
    rows = []
    for at in np.flatnonzero(~regular).tolist():
        begin = int(line_ends[at - 1]) + 1 if at else 0
        rows.append((at + 1, plain[begin : int(line_ends[at])]))
    return rows
