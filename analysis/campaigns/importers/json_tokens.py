"""Compiled loops: a tokenizer for plain JSON (RFC 8259) in a zero-terminated uint8 array.

Plain JSON has no escapes, only ASCII, and numbers of at most 15 digits. Functions return positions
in ``text`` and -1 for anything else, which a slower parser of full JSON reads. ``trusted`` allows
bytes above 127, in text that this parser has written.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop

QUOTE, _BACKSLASH, _MINUS, _POINT = 34, 92, 45, 46
COMMA, _COLON, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE = 44, 58, 91, 93, 123, 125
# The largest depth of a skipped value: one bit per level marks an object or a list.
_MAX_DEPTH = 60
# Digits that a double represents exactly, so that one division gives the nearest double.
_MAX_DIGITS = 15
_SPACE = np.zeros(256, np.bool_)
_SPACE[[9, 10, 13, 32]] = True
_IN_STRING = np.zeros(256, np.bool_)
_IN_STRING[32:128] = True
_IN_STRING[[QUOTE, _BACKSLASH]] = False
_POWERS = 10.0 ** np.arange(_MAX_DIGITS + 1)
_PRIME, _BASIS = np.uint64(1_099_511_628_211), np.uint64(14_695_981_039_346_656_037)


@compile_loop
def skip_space(text: Any, at: Any) -> Any:
    """Return the position of the next token."""
    while text[at] <= 32 and _SPACE[text[at]]:
        at += 1
    return at


@compile_loop
def end_string(text: Any, at: Any, trusted: Any) -> Any:
    """Return the position of the closing quote of the string whose content begins at ``at``."""
    while _IN_STRING[text[at]]:
        at += 1
    while trusted and (_IN_STRING[text[at]] or text[at] > 127):
        at += 1
    return at if text[at] == QUOTE else -1


@compile_loop
def hash_octets(text: Any, begin: Any, end: Any) -> Any:
    """Return the 64-bit FNV-1a hash of ``text[begin:end]``."""
    found = _BASIS
    for i in range(begin, end):
        found = (found ^ np.uint64(text[i])) * _PRIME
    return found


@compile_loop
def end_key(text: Any, at: Any, trusted: Any) -> Any:
    """Return (end of a key, begin of its value); ``at`` is the opening quote of the key."""
    if text[at] != QUOTE:
        return -1, -1
    end = end_string(text, at + 1, trusted)
    if end < 0:
        return -1, -1
    colon = skip_space(text, end + 1)
    if text[colon] != _COLON:
        return -1, -1
    return end, skip_space(text, colon + 1)


@compile_loop
def is_digit(octet: Any) -> Any:
    """Return whether a byte is a decimal digit."""
    return 48 <= octet <= 57


@compile_loop
def end_digits(text: Any, at: Any) -> Any:
    """Return the end of a run of digits."""
    while is_digit(text[at]):
        at += 1
    return at


@compile_loop
def end_integer(text: Any, at: Any) -> Any:
    """Return the end of the integer part of a number."""
    begin = at + 1 if text[at] == _MINUS else at
    end = end_digits(text, begin)
    if end == begin or (text[begin] == 48 and end > begin + 1):
        return -1
    return end


@compile_loop
def end_number(text: Any, at: Any) -> Any:
    """Return the end of a number."""
    at = end_integer(text, at)
    if at >= 0 and text[at] == _POINT:
        begin = at + 1
        at = end_digits(text, begin)
        if at == begin:
            return -1
    if at >= 0 and (text[at] == 101 or text[at] == 69):
        begin = at + 2 if text[at + 1] == 43 or text[at + 1] == _MINUS else at + 1
        at = end_digits(text, begin)
        if at == begin:
            return -1
    return at


@compile_loop
def read_integer(text: Any, at: Any) -> Any:
    """Return (value, end) of a number without fraction and exponent."""
    value, end = read_real(text, at)
    for i in range(at, end):
        if text[i] == _POINT:
            return 0, -1
    return np.int64(value), end


@compile_loop
def read_real(text: Any, at: Any) -> Any:
    """Return (nearest double, end) of a number without exponent."""
    negative = text[at] == _MINUS
    begin = at + 1 if negative else at
    value, end, decimals = np.int64(0), begin, 0
    while is_digit(text[end]):
        value = value * 10 + (np.int64(text[end]) - 48)
        end += 1
    whole = end - begin
    if text[end] == _POINT:
        point = end
        end += 1
        while is_digit(text[end]):
            value = value * 10 + (np.int64(text[end]) - 48)
            end += 1
        decimals = end - point - 1
        if decimals == 0:
            return 0.0, -1
    if not is_json_integer(text, begin, whole, end) or whole + decimals > _MAX_DIGITS:
        return 0.0, -1
    real = value / _POWERS[decimals]
    return -real if negative else real, end


@compile_loop
def is_json_integer(text: Any, begin: Any, whole: Any, end: Any) -> Any:
    """Return whether the integer digits are valid JSON and no exponent follows."""
    leading = text[begin] == 48 and whole > 1
    return whole > 0 and not leading and text[end] != 101 and text[end] != 69


@compile_loop
def matches(text: Any, at: Any, word: Any) -> Any:
    """Return whether ``word`` is at position ``at``."""
    i = 0
    while i < len(word) and text[at + i] == word[i]:
        i += 1
    return i == len(word)


_TRUE, _FALSE, _NULL = (np.frombuffer(w, np.uint8) for w in (b"true", b"false", b"null"))


@compile_loop
def skip_scalar(text: Any, at: Any, trusted: Any) -> Any:
    """Return the end of a scalar value."""
    octet = text[at]
    if octet == QUOTE:
        end = end_string(text, at + 1, trusted)
        return end + 1 if end >= 0 else -1
    if octet == _MINUS or is_digit(octet):
        return end_number(text, at)
    for word in (_TRUE, _FALSE, _NULL):
        if octet == word[0]:
            return at + len(word) if matches(text, at, word) else -1
    return -1


@compile_loop
def open_value(text: Any, at: Any, trusted: Any) -> Any:
    """Return (end of a scalar or empty container, or begin of the first item; whether opened)."""
    if text[at] != OPEN and text[at] != OPEN_LIST:
        return skip_scalar(text, at, trusted), False
    inside = skip_space(text, at + 1)
    # The code of a closing bracket is that of the opening one plus two.
    if text[inside] == text[at] + 2:
        return inside + 1, False
    if text[at] == OPEN_LIST:
        return inside, True
    return end_key(text, inside, trusted)[1], True


@compile_loop
def close_values(text: Any, at: Any, depth: Any, kinds: Any, trusted: Any) -> Any:
    """Return (begin of the next value, depth) after a value ended; depth 0 is the end."""
    while depth > 0:
        at = skip_space(text, at)
        is_object = (kinds >> depth) & 1
        if text[at] == COMMA:
            at = skip_space(text, at + 1)
            return (end_key(text, at, trusted)[1] if is_object else at), depth
        if text[at] != (CLOSE if is_object else CLOSE_LIST):
            return -1, depth
        at, depth = at + 1, depth - 1
    return at, depth


@compile_loop
def skip_value(text: Any, at: Any, trusted: Any) -> Any:
    """Return the end of any value."""
    if text[at] != OPEN and text[at] != OPEN_LIST:
        return skip_scalar(text, at, trusted)
    depth, kinds = 0, np.int64(0)
    while at >= 0:
        begin = at
        at, opened = open_value(text, at, trusted)
        if opened and at >= 0:
            depth += 1
            if depth > _MAX_DEPTH:
                return -1
            kinds &= ~(1 << depth)
            kinds |= np.int64(text[begin] == OPEN) << depth
            continue
        if at < 0:
            return -1
        at, depth = close_values(text, at, depth, kinds, trusted)
        if depth == 0:
            return at
    return -1


@compile_loop
def end_object(text: Any, at: Any, end: Any) -> Any:
    """Return the end of an object that need not be plain; -1 if the text ends before."""
    depth, quoted = 0, False
    while at < end:
        octet = text[at]
        if quoted:
            at += octet == _BACKSLASH
            quoted = octet != QUOTE
        elif octet == QUOTE:
            quoted = True
        elif octet in (OPEN, OPEN_LIST):
            depth += 1
        elif octet in (CLOSE, CLOSE_LIST):
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1
