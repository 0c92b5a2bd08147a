"""Compiled codec of plain names: letters in lower case, no octet that text has to escape.

What is not plain is refused, never guessed: the reference engine reads it
(``crawlers.dns.name_codec``, with the same rules for compression pointers).
"""

from typing import Any

import numpy as np

from core.jit import compile_bare

REFUSED = -1
# Stricter than the reference, which follows 16.
_MOST_POINTERS = 8
_LONGEST_TEXT = 253
_FIRST_NAME = 12
_PLAIN = [b for b in range(33, 127) if b not in (34, 46, 92)]
# The octet in lower case, or 0 where it is not plain.
_LOWER = np.array(
    [(b + 32 if 65 <= b <= 90 else b) if b in _PLAIN else 0 for b in range(256)], np.uint8
)
_DOT = 46


@compile_bare
def read_name(packet: Any, begin: Any, end: Any, text: Any, put: Any) -> Any:  # noqa: C901
    """Decode the name at ``begin``, which ends before ``end``, to ``text`` from ``put`` on.

    Returns the offset behind the name and the one behind its text; ``REFUSED`` where it is not
    plain or not well-formed. The root is an empty text. At most 254 octets are written.
    """
    at, limit, piece, behind, pointers, first = begin, end, begin, REFUSED, 0, put
    while at < limit:
        length = np.int64(packet[at])
        at += 1
        if length == 0:
            if put > first:
                put -= 1
            if put - first > _LONGEST_TEXT:
                break
            return (at if behind < 0 else behind), put
        if length >= 192:
            if at >= limit:
                break
            target = (length & 63) << 8 | np.int64(packet[at])
            if behind < 0:
                behind = at + 1
            pointers += 1
            # What a pointer leads to has to end before the name begins that holds the pointer.
            limit, piece, at = piece, target, target
            if pointers > _MOST_POINTERS or target < _FIRST_NAME:
                break
            continue
        if length > 63 or at + length >= limit or put + length - first > _LONGEST_TEXT:
            break
        for i in range(at, at + length):
            lower = _LOWER[packet[np.uintp(i)]]
            if lower == 0:
                return REFUSED, put
            text[np.uintp(put)] = lower
            put += 1
        text[put] = _DOT
        put += 1
        at += length
    return REFUSED, put


@compile_bare
def encode_line(text: Any, begin: Any, end: Any, packet: Any, put: Any) -> Any:
    """Encode the plain lower-case name in ``text`` to wire form at ``put``.

    Returns the offset behind it, or ``REFUSED`` where a label is empty, too long or not plain.
    """
    if end - begin > _LONGEST_TEXT or end <= begin:
        return REFUSED
    length_at = put
    put += 1
    for i in range(begin, end):
        octet = text[i]
        if octet == _DOT:
            length = put - length_at - 1
            if length == 0 or length > 63:
                return REFUSED
            packet[length_at] = length
            length_at = put
        elif octet != _LOWER[octet] or octet == 0:
            return REFUSED
        else:
            packet[put] = octet
        put += 1
    length = put - length_at - 1
    if length == 0 or length > 63:
        return REFUSED
    packet[length_at] = length
    packet[put] = 0
    return put + 1
