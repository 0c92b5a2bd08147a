"""Compiled parsers of IP addresses in text: branch-free dotted quads, and every form of IPv6.

They read the bytes of Arrow string buffers and return numbers and a validity flag; they accept
exactly the texts that ``inet_pton`` accepts.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numpy.typing import NDArray

from core.jit import compile_division

Text = NDArray[np.uint8]
# The dotted reader loads a row of sixteen bytes, and four more behind the last dot.
ROW_BYTES = 20
# The longest IPv6 address ends in a dotted quad, and its reader may begin a row at its end.
LONGEST_TEXT = 45
READ_BYTES = LONGEST_TEXT + ROW_BYTES
_ROW = 16
_DOT, _COLON = 46, 58
# More groups than an address has.
_NONE = 9
# A numba intrinsic is called without its first parameter, which no type can express.
intrinsic: Any = extending.intrinsic


def _emit_zeros(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))


@intrinsic  # type: ignore[untyped-decorator]
def _count_zeros(_context: Any, _bits: Any) -> Any:
    return types.uint64(types.uint64), _emit_zeros


def _emit_dots(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _emit_signs(context, builder, signature, arguments, _DOT)


def _emit_signs(context: Any, builder: Any, signature: Any, arguments: Any, sign: int) -> Any:
    """One bit for each of sixteen bytes: whether it is this sign. One or two instructions."""
    row = ir.VectorType(ir.IntType(8), _ROW)
    place = _place(context, builder, signature, arguments, row)
    wanted = ir.Constant(row, [sign] * _ROW)
    found = builder.icmp_unsigned("==", builder.load(place, align=1), wanted)
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


@compile_division
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


@compile_division
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
    # Positions are kept within the row, for any text.
    second, third = second & low, third & low
    a, wrong_a = _read_part(text, begin, first)
    b, wrong_b = _read_part(text, begin + np.int64(first & low) + 1, second - first - one)
    c, wrong_c = _read_part(text, begin + np.int64(second) + 1, third - second - one)
    d, wrong_d = _read_part(text, begin + np.int64(third) + 1, size - third - one)
    wrong |= wrong_a | wrong_b | wrong_c | wrong_d
    number = (a << np.uint64(24)) | (b << np.uint64(16)) | (c << np.uint64(8)) | d
    return (number & np.uint64(0xFFFFFFFF)) | (np.uint64(wrong != 0) << np.uint64(32))


def _emit_colons(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _emit_signs(context, builder, signature, arguments, _COLON)


@intrinsic  # type: ignore[untyped-decorator]
def _find_colons(_context: Any, text: Any, _at: Any) -> Any:
    return types.uint64(text, types.int64), _emit_colons


@compile_division
def starts_like_ipv6(text: Text, begin: Any, end: Any) -> Any:
    """Whether a colon is among the first five characters, as in every IPv6 address."""
    size = np.uint64(min(end - begin, 5))
    one = np.uint64(1)
    return (_find_colons(text, begin) & ((one << size) - one)) != 0


def _emit_hex(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """One bit for each of sixteen bytes: whether it is a hexadecimal digit."""
    row = ir.VectorType(ir.IntType(8), _ROW)
    place = _place(context, builder, signature, arguments, row)
    signs = builder.load(place, align=1)
    letters = builder.or_(signs, ir.Constant(row, [0x20] * _ROW))
    plain = builder.sub(signs, ir.Constant(row, [ord("0")] * _ROW))
    above = builder.sub(letters, ir.Constant(row, [ord("a")] * _ROW))
    is_plain = builder.icmp_unsigned("<", plain, ir.Constant(row, [10] * _ROW))
    is_letter = builder.icmp_unsigned("<", above, ir.Constant(row, [6] * _ROW))
    found = builder.or_(is_plain, is_letter)
    return builder.zext(builder.bitcast(found, ir.IntType(_ROW)), ir.IntType(64))


@intrinsic  # type: ignore[untyped-decorator]
def _find_hex(_context: Any, text: Any, _at: Any) -> Any:
    return types.uint64(text, types.int64), _emit_hex


@compile_division
def _read_group(text: Text, at: Any, size: Any) -> Any:
    """One group of one to four digits, which are hexadecimal."""
    shift = (np.uint64(32) - (np.uint64(size) << np.uint64(3))) & np.uint64(0x1F)
    word = (_load_four(text, at) << shift) & np.uint64(0xFFFFFFFF)
    nibbles = word & np.uint64(0x0F0F0F0F)
    nibbles += np.uint64(9) * ((word >> np.uint64(6)) & np.uint64(0x01010101))
    value = ((nibbles & np.uint64(0xF)) << np.uint64(12)) | (nibbles & np.uint64(0xF00))
    return value | ((nibbles >> np.uint64(12)) & np.uint64(0xF0)) | (nibbles >> np.uint64(24))


@compile_division
def _read_groups(text: Text, begin: Any, at: Any, end: Any, colons: Any) -> Any:
    """Groups between two places, ``colons`` apart: (high, low, how many, whether they end in a
    dotted quad); more than eight are none at all."""
    high, low, n_groups = np.uint64(0), np.uint64(0), 0
    if at >= end:
        return high, low, np.int64(0 if at == end else _NONE), False
    colons |= np.uint64(1) << np.uint64(end)
    colons &= ~((np.uint64(1) << np.uint64(at)) - np.uint64(1))
    while colons != 0 and n_groups < _NONE:
        stop = np.int64(_count_zeros(colons))
        colons &= colons - np.uint64(1)
        if stop - at > 4:
            quad = read_ipv4(text, begin + at, begin + stop)
            sound = (stop == end) & (quad >> np.uint64(32) == 0)
            high = (high << np.uint64(32)) | (low >> np.uint64(32))
            low = (low << np.uint64(32)) | (quad & np.uint64(0xFFFFFFFF))
            return high, low, n_groups + 2 if sound else _NONE, True
        high = (high << np.uint64(16)) | (low >> np.uint64(48))
        low = (low << np.uint64(16)) | _read_group(text, begin + at, stop - at)
        n_groups = n_groups + 1 if stop > at else _NONE
        at = stop + 1
    return high, low, n_groups, False


@compile_division
def read_ipv6(text: Text, begin: Any, end: Any) -> Any:
    """(high, low, sound) of an IPv6 address; reads ``READ_BYTES`` from ``begin``."""
    size = end - begin
    if not 2 <= size <= LONGEST_TEXT:
        return np.uint64(0), np.uint64(0), False
    one = np.uint64(1)
    used = (one << np.uint64(size)) - one
    colons = _find_colons(text, begin) | (_find_colons(text, begin + 16) << np.uint64(16))
    colons = (colons | (_find_colons(text, begin + 32) << np.uint64(32))) & used
    digits = _find_hex(text, begin) | (_find_hex(text, begin + 16) << np.uint64(16))
    strange = used & ~(colons | digits | (_find_hex(text, begin + 32) << np.uint64(32)))
    high, low, sound, has_quad = _read_halves(text, begin, size, colons)
    # Other signs are the dots of a quad, behind the last colon.
    last = (strange & (~strange + one)) > colons
    return high, low, sound & ((strange == 0) | (has_quad & last))


@compile_division
def _read_halves(text: Text, begin: Any, size: Any, colons: Any) -> Any:
    """(high, low, sound, whether there is a quad) around a double colon, where there is one."""
    one = np.uint64(1)
    double = colons & (colons >> one)
    if double == 0:
        high, low, n_groups, has_quad = _read_groups(text, begin, 0, size, colons)
        return high, low, n_groups == 8, has_quad
    gap = np.int64(_count_zeros(double))
    head = colons & ((one << np.uint64(gap)) - one)
    high, low, n_head, breaks = _read_groups(text, begin, 0, gap, head)
    tail_high, tail_low, n_tail, has_quad = _read_groups(text, begin, gap + 2, size, colons)
    for _ in range(8 - n_head):
        high = (high << np.uint64(16)) | (low >> np.uint64(48))
        low = low << np.uint64(16)
    sound = (double & (double - one) == 0) & (n_head + n_tail < 8) & (not breaks)
    return high | tail_high, low | tail_low, sound, has_quad
