"""Compiled loops over the lines of access logs: find the client's address, and count cells.

Importing this module costs half a second. ``text`` is a block of whole lines with ``READ_BYTES``
zeros behind it. No text of an address leaves the block; an address is two halves of 64 bits, an
IPv4 address the mapped IPv6 address.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.access_logs.shapes import BALANCER, COLUMNS, COMBINED
from cartography.addresses.parsing import (
    READ_BYTES,
    Text,
    read_ipv4,
    read_ipv6,
    starts_like_ipv6,
)
from core.jit import compile_division, compile_loop

__all__ = ["READ_BYTES", "add_cells", "read_lines"]

# What is wrong with a line, in the order of ``lines.REASONS``.
_SOUND, _COMMENT, _NO_CLIENT, _NO_TIME, _NO_REQUEST, _NO_STATUS = 0, 1, 2, 3, 4, 5
_WRONG_COLUMNS, _NO_OBJECT, _NO_KEY, _NO_ADDRESS = 6, 7, 8, 9
_SPACE, _QUOTE, _BACKSLASH, _HASH, _DASH, _COLON, _COMMA = 32, 34, 92, 35, 45, 58, 44
_OPEN, _CLOSE, _BRACE, _END_BRACE, _LETTER_T, _NEWLINE = 91, 93, 123, 125, 84, 10
_MAPPED = np.uint64(0xFFFF00000000)
# Signs of a time such as 2024-06-29T01:23:09 before its T.
_DAY_SIGNS = 10
EMPTY = -1


@compile_division
def _find(text: Text, at: Any, end: Any, sign: Any) -> Any:
    """Return the place of a sign, or ``end``."""
    while at < end and text[at] != sign:
        at += 1
    return at


@compile_division
def _close_quote(text: Text, at: Any, end: Any) -> Any:
    """Return the place of the quote that closes a text, in which a backslash escapes."""
    while at < end and text[at] != _QUOTE:
        at += 2 if text[at] == _BACKSLASH else 1
    return min(at, end)


@compile_division
def _is_status(text: Text, at: Any, end: Any) -> Any:
    """Return whether three digits and the end of a field stand there."""
    if at + 3 > end or (at + 3 < end and text[at + 3] != _SPACE):
        return False
    return (48 < text[at] < 58) & (47 < text[at + 1] < 58) & (47 < text[at + 2] < 58)


@compile_division
def _scan_combined(text: Text, at: Any, end: Any, n_before: Any) -> Any:
    """Return (first, last, reason): client, time in brackets, request in quotes, status."""
    for _ in range(n_before):
        at = _find(text, at, end, _SPACE) + 1
    first, at = at, _find(text, at, end, _SPACE)
    last = at
    if last <= first:
        return first, first, _NO_CLIENT
    at = _find(text, at, end, _OPEN) + 1
    if at >= end or not 47 < text[at] < 58:
        return first, last, _NO_TIME
    at = _find(text, at, end, _CLOSE)
    if at + 2 >= end or text[at + 1] != _SPACE or text[at + 2] != _QUOTE:
        return first, last, _NO_REQUEST
    at = _close_quote(text, at + 3, end)
    if at >= end:
        return first, last, _NO_REQUEST
    if at + 2 > end or text[at + 1] != _SPACE or not _is_status(text, at + 2, end):
        return first, last, _NO_STATUS
    return first, last, _SOUND


@compile_division
def _without_port(text: Text, first: Any, last: Any) -> Any:
    """Return (first, last) of the address in ``address:port`` or ``[address]:port``."""
    while last > first and text[last - 1] != _COLON:
        last -= 1
    last = max(first, last - 1)
    if last > first and text[first] == _OPEN and text[last - 1] == _CLOSE:
        return first + 1, last - 1
    return first, last


@compile_division
def _scan_balancer(text: Text, at: Any, end: Any, n_before: Any) -> Any:
    """Return (first, last, reason) of a load balancer's line: a time, its name, ``client:port``."""
    for number in range(n_before):
        if number == n_before - 2 and (
            at + _DAY_SIGNS >= end or text[at + 4] != _DASH or text[at + _DAY_SIGNS] != _LETTER_T
        ):
            return at, at, _NO_TIME
        at = _find(text, at, end, _SPACE) + 1
    first, at = at, _find(text, at, end, _SPACE)
    last = at
    if at >= end:
        return first, first, _NO_CLIENT
    for _ in range(5):
        at = _find(text, at, end, _SPACE) + 1
    if not (_is_status(text, at, end) or (at < end and text[at] == _DASH)):
        return first, last, _NO_STATUS
    if _find(text, at, end, _QUOTE) >= end:
        return first, last, _NO_REQUEST
    first, last = _without_port(text, first, last)
    return first, last, _SOUND


@compile_division
def _scan_columns(text: Text, at: Any, end: Any, column: Any, columns: Any, sign: Any) -> Any:
    """Return (first, last, reason) of a line of columns, as many as the head names."""
    first, last, number, begin = at, at, 0, at
    while at <= end:
        if at == end or text[at] == sign:
            if number == column:
                first, last = begin, at
            number, begin = number + 1, at + 1
        at += 1
    return first, last, _SOUND if number == columns else _WRONG_COLUMNS


@compile_division
def _skip_spaces(text: Text, at: Any, end: Any) -> Any:
    while at < end and text[at] <= _SPACE:
        at += 1
    return at


@compile_division
def _is_key(text: Text, at: Any, end: Any, key: Text) -> Any:
    if end - at != len(key):
        return False
    n_same = 0
    while n_same < len(key) and text[at + n_same] == key[n_same]:
        n_same += 1
    return n_same == len(key)


@compile_division
def _read_value(text: Text, at: Any, end: Any) -> Any:
    """Return (first, last, whether it is a text) of the value behind a key's closing quote."""
    at = _skip_spaces(text, at, end)
    if at >= end or text[at] != _COLON:
        return at, at, False
    at = _skip_spaces(text, at + 1, end)
    if at >= end or text[at] != _QUOTE:
        return at, at, False
    last = _close_quote(text, at + 1, end)
    return at + 1, last, last < end


@compile_division
def _next_state(sign: Any, depth: Any, is_key: Any) -> Any:
    """Return the depth behind a sign, and whether a text there would be a key."""
    if sign in (_BRACE, _OPEN):
        return depth + 1, depth == 0
    if sign in (_END_BRACE, _CLOSE):
        return depth - 1, is_key
    if depth == 1 and sign in (_COMMA, _COLON):
        return depth, sign == _COMMA
    return depth, is_key


@compile_division
def _scan_object(text: Text, at: Any, end: Any, key: Text) -> Any:
    """Return (first, last, reason): the text of one key of the outermost object.

    Of a key that is listed twice the last counts, as JSON readers have it.
    """
    at = _skip_spaces(text, at, end)
    if at >= end or text[at] != _BRACE:
        return at, at, _NO_OBJECT
    first, last, depth, is_key, reason = at, at, 0, False, _NO_KEY
    while at < end:
        if text[at] == _QUOTE:
            close = _close_quote(text, at + 1, end)
            if depth == 1 and is_key and _is_key(text, at + 1, close, key):
                first, last, is_text = _read_value(text, close + 1, end)
                reason = _SOUND if is_text else _NO_ADDRESS
            at = close
        else:
            depth, is_key = _next_state(text[at], depth, is_key)
            if depth == 0:
                break
        at += 1
    is_whole = depth == 0 and _skip_spaces(text, at + 1, end) >= end
    return first, last, reason if is_whole else _NO_OBJECT


@compile_division
def _scan(text: Text, at: Any, end: Any, form: Any, key: Text) -> Any:
    """Return (first, last, reason) of a line; ``form`` is kind, column, columns and sign."""
    if text[at] == _HASH:
        return at, at, _COMMENT
    if form[0] == COMBINED:
        return _scan_combined(text, at, end, form[1])
    if form[0] == BALANCER:
        return _scan_balancer(text, at, end, form[1])
    if form[0] == COLUMNS:
        return _scan_columns(text, at, end, form[1], form[2], form[3])
    return _scan_object(text, at, end, key)


@compile_division
def _read_address(text: Text, first: Any, last: Any) -> Any:
    """Return (high, low, sound) of an address, an IPv4 address as the mapped one."""
    if starts_like_ipv6(text, first, last):
        return read_ipv6(text, first, last)
    quad = read_ipv4(text, first, last)
    return np.uint64(0), _MAPPED | quad, quad >> np.uint64(32) == 0


@compile_division
def read_lines(
    text: Text,
    form: tuple[int, int, int, int],
    key: Text,
    halves: NDArray[np.uint64],
    reasons: NDArray[np.uint8],
) -> None:
    """Read the client of every line of a block.

    ``halves`` (2, n_lines) uint64 receives the addresses, ``reasons`` (n_lines,) 0 or what is
    wrong.
    """
    at, size = 0, len(text) - READ_BYTES
    for line in range(len(reasons)):
        end = _find(text, at, size, _NEWLINE)
        first, last, reason = _scan(text, at, end, form, key)
        if reason == _SOUND:
            high, low, is_sound = _read_address(text, first, last)
            if is_sound:
                halves[0, line], halves[1, line] = high, low
            else:
                reason = _NO_ADDRESS
        reasons[line] = reason
        at = end + 1


@compile_loop
def add_cells(keys: Any, hashes: Any, slots: Any, counts: Any, n_clients: Any, clients: Any) -> Any:
    """Count rows by key in a table of open addressing; return how many cells are new.

    ``keys`` (n,) int64 from 0; ``hashes`` (n,) uint64 of their clients. The table has a power of
    two of cells: ``slots`` int64 keys, -1 where empty; ``counts``; ``n_clients``, how many
    different clients, at most the width of ``clients``, in which their hashes are kept.
    """
    mask, most, added = len(slots) - 1, clients.shape[1], 0
    for i in range(len(keys)):
        at = (keys[i] * 0x9E3779B97F4A7C1 >> 20) & mask
        while slots[at] != keys[i] and slots[at] != EMPTY:
            at = (at + 1) & mask
        if slots[at] == EMPTY:
            slots[at] = keys[i]
            added += 1
        counts[at] += 1
        known = n_clients[at]
        if known < most:
            is_new = True
            for k in range(known):
                is_new &= clients[at, k] != hashes[i]
            if is_new:
                clients[at, known] = hashes[i]
                n_clients[at] += 1
    return added
