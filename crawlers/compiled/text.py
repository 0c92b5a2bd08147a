"""Compiled writers of text: fragments, numbers, addresses and times in the form of ``jsonl``."""

from typing import Any

import numpy as np

from core.jit import compile_bare

_ZERO, _COLON, _DOT = 48, 58, 46
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_US_PER_MS, _US_PER_S, _S_PER_DAY = 1_000, 1_000_000, 86_400


@compile_bare
def write_text(out: Any, put: Any, fragment: Any) -> Any:
    """Copy a fragment; returns the offset behind it."""
    # Without a sign, an index is not looked at for one that counts from the end.
    for i in range(len(fragment)):
        out[np.uintp(put + i)] = fragment[np.uintp(i)]
    return put + len(fragment)


@compile_bare
def write_if(out: Any, put: Any, fragment: Any, is_wanted: Any) -> Any:
    """Copy a fragment where it is wanted; returns the offset behind it."""
    return write_text(out, put, fragment) if is_wanted else put


@compile_bare
def write_part(out: Any, put: Any, source: Any, begin: Any, end: Any) -> Any:
    """Copy a part of other octets; returns the offset behind it."""
    for i in range(end - begin):
        out[np.uintp(put + i)] = source[np.uintp(begin + i)]
    return put + end - begin


@compile_bare
def write_number(out: Any, put: Any, value: Any) -> Any:
    """Write an integer from 0 on in decimal; returns the offset behind it."""
    digits, rest = 1, value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(digits):
        out[put + digits - 1 - i] = _ZERO + value % 10
        value //= 10
    return put + digits


@compile_bare
def write_padded(out: Any, put: Any, value: Any, digits: Any) -> Any:
    """Write the last digits of an integer with leading zeros; returns the offset behind it."""
    for i in range(digits):
        out[put + digits - 1 - i] = _ZERO + value % 10
        value //= 10
    return put + digits


@compile_bare
def write_ipv4(out: Any, put: Any, packet: Any, begin: Any) -> Any:
    """Write four octets as a dotted quad; returns the offset behind it."""
    for i in range(4):
        if i:
            out[put] = _DOT
            put += 1
        put = write_number(out, put, np.int64(packet[begin + i]))
    return put


@compile_bare
def write_hexadecimal(out: Any, put: Any, group: Any) -> Any:
    """Write a group of 16 bits without leading zeros; returns the offset behind it."""
    shift = 12
    while shift and group >> shift == 0:
        shift -= 4
    while shift >= 0:
        out[put] = _HEX[group >> shift & 15]
        put += 1
        shift -= 4
    return put


@compile_bare
def read_group(packet: Any, begin: Any, number: Any) -> Any:
    """Return one of the eight groups of an IPv6 address."""
    at = begin + 2 * number
    return np.int64(packet[at]) << 8 | np.int64(packet[at + 1])


@compile_bare
def find_zeros(packet: Any, begin: Any) -> Any:
    """Return the first longest run of two or more zero groups: first group, length (or 0)."""
    best, best_length, run = 0, 1, 0
    for i in range(8):
        run = run + 1 if read_group(packet, begin, i) == 0 else 0
        if run > best_length:
            best, best_length = i - run + 1, run
    return best, (best_length if best_length > 1 else 0)


@compile_bare
def is_mapped(packet: Any, begin: Any) -> Any:
    """Whether the C library writes the end of an IPv6 address as a dotted quad."""
    for i in range(5):
        if read_group(packet, begin, i):
            return False
    group = read_group(packet, begin, 5)
    return group == 0xFFFF or (group == 0 and read_group(packet, begin, 6) != 0)


@compile_bare
def write_ipv6(out: Any, put: Any, packet: Any, begin: Any) -> Any:
    """Write sixteen octets as ``inet_ntop`` does, no mapped ones; returns the offset behind."""
    first, length = find_zeros(packet, begin)
    i = 0
    while i < 8:
        if length and i == first:
            out[put] = _COLON
            out[put + 1] = _COLON
            put += 2
            i += length
            continue
        if i and not (length and i == first + length):
            out[put] = _COLON
            put += 1
        put = write_hexadecimal(out, put, read_group(packet, begin, i))
        i += 1
    return put


@compile_bare
def write_date(out: Any, put: Any, days: Any) -> Any:
    """Write days since 1970 as year, month and day (Howard Hinnant's ``civil_from_days``)."""
    days += 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    put = write_padded(out, put, year + era * 400 + (1 if month <= 2 else 0), 4)
    out[put] = 45
    put = write_padded(out, put + 1, month, 2)
    out[put] = 45
    return write_padded(out, put + 1, day, 2)


@compile_bare
def write_time(out: Any, put: Any, at_us: Any) -> Any:
    """Write microseconds since 1970 as ISO 8601 in UTC, to the millisecond (24 octets)."""
    seconds = at_us // _US_PER_S
    put = write_date(out, put, seconds // _S_PER_DAY)
    out[put] = 84
    rest = seconds % _S_PER_DAY
    put = write_padded(out, put + 1, rest // 3_600, 2)
    out[put] = _COLON
    put = write_padded(out, put + 1, rest // 60 % 60, 2)
    out[put] = _COLON
    put = write_padded(out, put + 1, rest % 60, 2)
    out[put] = _DOT
    put = write_padded(out, put + 1, at_us % _US_PER_S // _US_PER_MS, 3)
    out[put] = 90
    return put + 1
