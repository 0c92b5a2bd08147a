"""Parse lines of the form ``a.b.c.d/length TAB AS`` with numpy, half a million lines at a time.

The result has three columns, and the few lines of another form as text.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Characters of a plain line: digits, and six separators in this order.
_ORDER = np.frombuffer(b".../\t\n", dtype=np.uint8)
_SEPARATOR, _OTHER = 1, 2
_ZERO = np.uint8(ord("0"))
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
    separators = np.flatnonzero(kinds == _SEPARATOR)
    ends = np.flatnonzero(data[separators] == ord("\n"))
    line_ends = separators[ends]
    regular = np.diff(ends, prepend=-1) == len(_ORDER)
    regular[np.searchsorted(line_ends, np.flatnonzero(kinds == _OTHER))] = False
    chosen = np.flatnonzero(regular)
    values, sound = _values(data, separators, ends[chosen] - len(_ORDER) + 1)
    regular[chosen[~sound]] = False
    first = np.zeros(int(sound.sum()), dtype=np.int64)
    for part in values[:4]:
        first = (first << 8) | part[sound]
    columns = Regular(first.astype(np.uint32), values[4][sound].astype(np.uint8), values[5][sound])
    return columns, _others(plain, line_ends, regular)


def _values(
    data: NDArray[np.uint8], separators: NDArray[np.intp], begins: NDArray[np.intp]
) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """The six numbers of each line, by the index after its first separator; and which
    lines have them all, each within its bounds and behind its own sign."""
    before = separators[begins - 1]
    before[begins == 0] = -1
    sound = np.ones(len(begins), dtype=np.bool_)
    values = []
    for column, (most, sign) in enumerate(zip(_MOST_DIGITS, _ORDER, strict=True)):
        end = separators[begins + column]
        size = end - before - 1
        sound &= (size >= 1) & (size <= most) & (data[end] == sign)
        sound &= (size == 1) | (data[before + 1] != ord("0"))
        values.append(_number(data, end, np.minimum(size, most)))
        before = end
    return values, sound & _within_bounds(values)


def _within_bounds(values: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Parts of at most 255, a length of at most 32, a 32-bit AS, and no bits behind the prefix."""
    a, b, c, d, length, origin = values
    host = (np.int64(1) << (32 - np.minimum(length, 32))) - 1
    first = (a << 24) | (b << 16) | (c << 8) | d
    good: NDArray[np.bool_] = (np.maximum.reduce([a, b, c, d]) <= 255) & (first & host == 0)
    return good & (length <= 32) & (origin < 1 << 32)


def _number(data: NDArray[np.uint8], ends: Any, sizes: Any) -> NDArray[np.int64]:
    """The number with its digits before each place: the last digit of all, then those before it
    where there are any."""
    number: NDArray[np.int64] = (data[ends - 1] - _ZERO).astype(np.int64)
    power = 10
    for place in range(1, int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > place)
        digits = data[ends[longer] - 1 - place] - _ZERO
        number[longer] += digits.astype(np.int64) * power
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
