"""Compiled readers of addresses as text: a dotted quad without a branch, and IPv6 in all forms.

In go bytes as they lie in Arrow buffers; out come numbers, and whether the text was an address.
They read what ``inet_pton`` reads, and refuse the rest.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
Text = NDArray[np.uint8]
# The dotted reader loads a row of sixteen bytes, and four more behind the last dot.
ROW_BYTES = 20
# The longest IPv6 address ends in a dotted quad.
LONGEST_TEXT = 45
_ROW = 16
_DOT, _COLON = 46, 58
# A numba intrinsic is called without its first parameter, which no type can say.
intrinsic: Any = extending.intrinsic


def compile_loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; the result is cached on disk."""
    compiler = numba.njit(cache=True, nogil=True, error_model="numpy")
    return cast("Callable[P, R]", compiler(function))


def _emit_zeros(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))


@intrinsic  # type: ignore[untyped-decorator]
def _count_zeros(_context: Any, _bits: Any) -> Any:
    return types.uint64(types.uint64), _emit_zeros


def _emit_dots(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """One bit for each of sixteen bytes: whether it is a dot. One or two instructions."""
    row = ir.VectorType(ir.IntType(8), _ROW)
    place = _place(context, builder, signature, arguments, row)
    dots = ir.Constant(row, [_DOT] * _ROW)
    found = builder.icmp_unsigned("==", builder.load(place, align=1), dots)
    return builder.zext(builder.bitcast(found, ir.IntType(_ROW)), ir.IntType(64))


def _emit_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place = _place(context, builder, signature, arguments, ir.IntType(32))
    return builder.zext(builder.load(place, align=1), ir.IntType(64))


def _place(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    text = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(text.data, [arguments[1]]), kind.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def _find_dots(_context: Any, text: Any, _at: Any) -> Any:
    return types.uint64(text, types.int64), _emit_dots


@intrinsic  # type: ignore[untyped-decorator]
def _load_four(_context: Any, text: Any, _at: Any) -> Any:
    return types.uint64(text, types.int64), _emit_load


@compile_loop
def _read_part(text: Text, at: Any, size: Any) -> Any:
    """One part of a dotted quad, and a number that is 0 where it is sound."""
    one, sign = np.uint64(1), np.uint64(63)
    word = _load_four(text, at)
    # The digits move to the upper of three bytes, so that hundreds, tens and ones have theirs.
    shift = (np.uint64(24) - (size << np.uint64(3))) & np.uint64(0x1F)
    digits = ((word ^ np.uint64(0x303030)) << shift) & np.uint64(0xFFFFFF)
    value = (digits & np.uint64(0xFF)) * np.uint64(100)
    value += ((digits >> np.uint64(8)) & np.uint64(0xFF)) * np.uint64(10)
    value += digits >> np.uint64(16)
    wrong = (digits | (digits + np.uint64(0x767676))) & np.uint64(0x808080)
    wrong |= (value >> np.uint64(8)) | (((size - one) | (np.uint64(3) - size)) >> sign)
    begins_with_zero = (((word & np.uint64(0xFF)) ^ np.uint64(0x30)) - one) >> sign
    wrong |= begins_with_zero & ((one - size) >> sign)
    return value, wrong


@compile_loop
def read_ipv4(text: Text, begin: Any, end: Any) -> Any:
    """A dotted quad as a number, above 32 bits for anything else; reads 20 bytes from ``begin``."""
    size = np.uint64(end - begin)
    one, low = np.uint64(1), np.uint64(15)
    wrong = np.uint64((size - np.uint64(7)) > np.uint64(8))
    size &= low
    dots = (_find_dots(text, begin) & ((one << size) - one)) | (one << size)
    first = _count_zeros(dots)
    dots &= dots - one
    second = _count_zeros(dots)
    dots &= dots - one
    third = _count_zeros(dots)
    dots &= dots - one
    wrong |= dots ^ (one << size)
    # Places are kept within the row, whatever the text says.
    second, third = second & low, third & low
    a, wrong_a = _read_part(text, begin, first)
    b, wrong_b = _read_part(text, begin + np.int64(first & low) + 1, second - first - one)
    c, wrong_c = _read_part(text, begin + np.int64(second) + 1, third - second - one)
    d, wrong_d = _read_part(text, begin + np.int64(third) + 1, size - third - one)
    wrong |= wrong_a | wrong_b | wrong_c | wrong_d
    number = (a << np.uint64(24)) | (b << np.uint64(16)) | (c << np.uint64(8)) | d
    return (number & np.uint64(0xFFFFFFFF)) | (np.uint64(wrong != 0) << np.uint64(32))


@compile_loop
def _hex_digit(sign: Any) -> Any:
    """The value of a hexadecimal digit, -1 for another sign."""
    letter = (sign | 0x20) - 97
    if 0 <= letter <= 5:
        return letter + 10
    digit = sign - 48
    return digit if 0 <= digit <= 9 else -1


@compile_loop
def _shift_groups(high: Any, low: Any, n_groups: Any) -> Any:
    """A 128-bit number moved up by groups of sixteen bits."""
    for _ in range(n_groups):
        high = (high << np.uint64(16)) | (low >> np.uint64(48))
        low = low << np.uint64(16)
    return high, low


@compile_loop
def _read_groups(text: Text, at: Any, end: Any) -> Any:
    """Groups from ``at`` up to a double colon or the end: (high, low, how many, where, sound)."""
    high, low, n_groups = np.uint64(0), np.uint64(0), 0
    while at < end and n_groups < 8:
        begin, value = at, 0
        while at < end and at - begin < 5 and _hex_digit(np.int64(text[at])) >= 0:
            value = value * 16 + _hex_digit(np.int64(text[at]))
            at += 1
        if at < end and text[at] == _DOT and end - begin <= 15:
            quad = read_ipv4(text, begin, end)
            high, low = _shift_groups(high, low, 2)
            return high, low | (quad & np.uint64(0xFFFFFFFF)), n_groups + 2, end, quad >> 32 == 0
        if not 0 < at - begin < 5:
            return high, low, n_groups, at, False
        high, low = _shift_groups(high, low, 1)
        low |= np.uint64(value)
        n_groups += 1
        if at == end or text[at] != _COLON:
            return high, low, n_groups, at, at == end
        if at + 1 < end and text[at + 1] == _COLON:
            return high, low, n_groups, at, True
        at += 1
        if at == end:
            return high, low, n_groups, at, False
    return high, low, n_groups, at, at == end


@compile_loop
def read_ipv6(text: Text, end: Any) -> Any:
    """(high, low, sound) of the IPv6 address in the first bytes of ``text``, which are followed
    by at least ``ROW_BYTES`` more."""
    high, low, n_head, at, sound = np.uint64(0), np.uint64(0), 0, 0, True
    if end < 2 or text[0] != _COLON:
        high, low, n_head, at, sound = _read_groups(text, 0, end)
    if not sound or (at == end and n_head == 8):
        return high, low, sound and n_head == 8
    if at + 1 >= end or text[at] != _COLON or text[at + 1] != _COLON:
        return high, low, False
    high, low = _shift_groups(high, low, 8 - n_head)
    tail_high, tail_low, n_tail, at, sound = _read_groups(text, at + 2, end)
    sound = sound and at == end and n_head + n_tail < 8
    return high | tail_high, low | tail_low, sound
