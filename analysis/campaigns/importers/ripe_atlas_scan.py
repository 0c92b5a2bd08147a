"""Compiled loops: scan results of RIPE Atlas into arrays of numbers in one pass.

Results that are not plain JSON, or whose fields have other types, are left to
``ripe_atlas_fallback``. A text is a span: begin << SPAN_BITS | length.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.importers.json_tokens import (
    CLOSE,
    CLOSE_LIST,
    COMMA,
    OPEN,
    OPEN_LIST,
    QUOTE,
    end_key,
    end_string,
    is_digit,
    read_integer,
    read_real,
    skip_space,
    skip_value,
)
from core.jit import compile_loop

# Columns of a record: text spans, integers, number of elements.
TEXTS = ("type", "dst_addr", "dst_name", "src_addr", "from", "proto")
INTEGERS = ("prb_id", "timestamp", "paris_id", "sent")
FIELDS = (*TEXTS, *INTEGERS, "result")
RESULT = len(FIELDS) - 1
_N_TEXTS = len(TEXTS)
MISSING = np.iinfo(np.int64).min
# Columns of an element of a result and of a reply; round-trip times are float32 bits.
HOP, ELEMENT_BITS, REPLIES = 0, 1, 2
SPAN, REPLY_BITS = 0, 1
# The bit of an element with an error, above those of its hop.
ERROR = 1 << 8
# The bit of a late reply, above those of its round-trip time.
LATE = 1 << 32
NO_RTT = int(np.float32(np.nan).view(np.int32))
# Bits of the length in a span.
SPAN_BITS = 20
_LONGEST = (1 << SPAN_BITS) - 1
# Indices of ``counts``: records, elements, replies; and whether the fallback wrote the text.
RECORDS, ELEMENTS, ROWS, TRUSTED = 0, 1, 2, 3
# Why a scan ended: end of text, buffers full, or a record that is not plain.
DONE, FULL, IRREGULAR = 0, 1, 2
MAX_HOP, MAX_LATE = 255, (1 << 31) - 1
# Minimum and maximum of each integer field, of a hop and of the lateness of a reply; timestamps
# are before the year 10,000.
_LEAST = np.array([-(1 << 40), 0, -(1 << 31), -(1 << 31), 0, -MAX_LATE])
_GREATEST = np.array([1 << 40, 253_402_300_799, MAX_LATE, MAX_LATE, MAX_HOP, MAX_LATE])
_HOP_BOUNDS, _LATE_BOUNDS = len(INTEGERS), len(INTEGERS) + 1
# A key that no plain text has: the bits of a round-trip time, written by the fallback.
BITS_KEY = "\ufdd0"
# All known keys have at most this many ASCII characters.
_KEY_OCTETS, _LONG_KEY, _END = 9, 1, -2
_MINUS, _TRUE_BEGIN = ord("-"), ord("t")


def _packed(key: str) -> int:
    """Return a key as one number, as ``pack_key`` does."""
    found = 0
    for octet in key.encode():
        found = (found << 7) + octet
    return found


_KEYS = np.array([_packed(k) for k in FIELDS], np.int64)
_OF_REPLY = np.array([_packed(k) for k in ("from", "late", "dup", "rtt", BITS_KEY)], np.int64)
_OF_ELEMENT = np.array(
    [_packed(k) for k in ("hop", "result", "dup", "error", "rtt", BITS_KEY)], np.int64
)


def bounds_of(name: str) -> tuple[int, int]:
    """Return minimum and maximum of an integer field."""
    number = INTEGERS.index(name)
    return int(_LEAST[number]), int(_GREATEST[number])


class ScanBuffers(NamedTuple):
    """Output arrays of a scan, int64; unused memory is never touched."""

    records: NDArray[np.int64]
    elements: NDArray[np.int64]
    replies: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, octets: int) -> "ScanBuffers":
        """Allocate for all elements and replies that so many bytes can hold."""
        least = octets // 3 + 2
        records = np.empty((octets // 16 + 256, len(FIELDS)), np.int64)
        rows = np.empty((least, 3), np.int64), np.empty((least, 2), np.int64)
        return cls(records, *rows, np.zeros(4, np.int64))


@compile_loop
def pack_key(text: Any, begin: Any, end: Any) -> Any:
    """Return a key as one number of seven bits per byte; all long keys are equal."""
    if end - begin > _KEY_OCTETS:
        return np.int64(_LONG_KEY)
    found = np.int64(0)
    for i in range(begin, end):
        found = (found << 7) + np.int64(text[i])
    return found


@compile_loop
def read_text(text: Any, at: Any, trusted: Any) -> Any:
    """Return (span, end) of a string."""
    if text[at] != QUOTE:
        return 0, -1
    end = end_string(text, at + 1, trusted)
    if end < 0 or end - at > _LONGEST:
        return 0, -1
    return (at + 1) << SPAN_BITS | (end - at - 1), end + 1


@compile_loop
def next_member(text: Any, at: Any, first: Any, trusted: Any) -> Any:
    """Return (key, begin of its value) of the next member of an object, or (_END, end)."""
    at = skip_space(text, at)
    if text[at] == CLOSE:
        return _END, at + 1
    if not first:
        if text[at] != COMMA:
            return -1, -1
        at = skip_space(text, at + 1)
    end, value = end_key(text, at, trusted)
    if end < 0:
        return -1, -1
    return pack_key(text, at + 1, end), value


@compile_loop
def next_known(text: Any, at: Any, known: Any, seen: Any, trusted: Any) -> Any:
    """Return (index, begin of its value, seen mask) of the next known member of an object.

    The index is negative at the end of the object; the position is negative where the object is
    not plain or repeats a member. ``seen`` is 0 before the first.
    """
    while at >= 0:
        key, at = next_member(text, at, seen == 0, trusted)
        if key == _END or at < 0:
            break
        for number in range(len(known)):
            if known[number] == key:
                bit = 2 << number
                return number, -1 if seen & bit else at, seen | bit | 1
        seen, at = seen | 1, skip_value(text, at, trusted)
    return -1, at, seen


@compile_loop
def read_bounded(text: Any, at: Any, number: Any) -> Any:
    """Return (value, end) of an integer within the bounds of a field."""
    value, end = read_integer(text, at)
    return value, end if _LEAST[number] <= value <= _GREATEST[number] else -1


@compile_loop
def read_bits(text: Any, at: Any, as_bits: Any) -> Any:
    """Return (float32 bits, end) from a decimal number, or from the bits the fallback wrote."""
    if as_bits:
        return read_integer(text, at)
    value, end = read_real(text, at)
    return np.int64(np.float32(value).view(np.int32)), end


@compile_loop
def read_flag(text: Any, at: Any, trusted: Any) -> Any:
    """Return (flag, end): true or a non-zero number is set."""
    if text[at] == _MINUS or is_digit(text[at]):
        number, end = read_integer(text, at)
        return number != 0, end
    return text[at] == _TRUE_BEGIN, skip_value(text, at, trusted)


@compile_loop
def read_reply(text: Any, at: Any, replies: Any, counts: Any) -> Any:
    """Write a reply as a row and return its end; duplicates are left out."""
    span, bits, late, duplicate, seen, trusted = -1, NO_RTT, 0, False, 0, counts[TRUSTED]
    if text[at] != OPEN:
        return -1
    member, at, seen = next_known(text, at + 1, _OF_REPLY, seen, trusted)
    while member >= 0 and at >= 0:
        if member == 0:
            span, at = read_text(text, at, trusted)
        elif member == 1:
            late, at = LATE, read_bounded(text, at, _LATE_BOUNDS)[1]
        elif member == 2:
            duplicate, at = read_flag(text, at, trusted)
        else:
            bits, at = read_bits(text, at, member == 4)
        member, at, seen = next_known(text, at, _OF_REPLY, seen, trusted)
    if not duplicate:
        row = counts[ROWS]
        replies[row, SPAN], replies[row, REPLY_BITS] = span, (bits & 0xFFFF_FFFF) | late
        counts[ROWS] = row + 1
    return at


@compile_loop
def after_item(text: Any, at: Any) -> Any:
    """Return (begin of the next item of a list, whether there is one) after an item."""
    at = skip_space(text, at)
    if text[at] == CLOSE_LIST:
        return at + 1, False
    return skip_space(text, at + 1) if text[at] == COMMA else -1, True


@compile_loop
def first_item(text: Any, at: Any) -> Any:
    """Return (begin of the first item of a list, whether there is one)."""
    if text[at] != OPEN_LIST:
        return -1, False
    at = skip_space(text, at + 1)
    return (at + 1, False) if text[at] == CLOSE_LIST else (at, True)


@compile_loop
def read_replies(text: Any, at: Any, replies: Any, counts: Any) -> Any:
    """Return (number, end) of a list of replies."""
    before = counts[ROWS]
    at, more = first_item(text, at)
    while more and at >= 0:
        at = read_reply(text, at, replies, counts)
        if at >= 0:
            at, more = after_item(text, at)
    return counts[ROWS] - before, at


@compile_loop
def read_element(text: Any, at: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """Write an element of a result (hop with replies, or ping reply) as a row; return its end.

    Duplicate replies are left out.
    """
    hop, bits, number, error, duplicate, seen, trusted = 0, NO_RTT, 0, 0, False, 0, counts[TRUSTED]
    if text[at] != OPEN:
        return -1
    member, at, seen = next_known(text, at + 1, _OF_ELEMENT, seen, trusted)
    while member >= 0 and at >= 0:
        if member == 0:
            hop, at = read_bounded(text, at, _HOP_BOUNDS)
        elif member == 1:
            number, at = read_replies(text, at, replies, counts)
        elif member == 2:
            duplicate, at = read_flag(text, at, trusted)
        elif member == 3:
            error, at = ERROR, skip_value(text, at, trusted)
        else:
            bits, at = read_bits(text, at, member == 5)
        member, at, seen = next_known(text, at, _OF_ELEMENT, seen, trusted)
    if not duplicate or number:
        row = counts[ELEMENTS]
        elements[row, HOP], elements[row, ELEMENT_BITS] = hop | error, bits
        elements[row, REPLIES] = number
        counts[ELEMENTS] = row + 1
    return at


@compile_loop
def read_elements(text: Any, at: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """Return (number of elements, end) of a result."""
    before = counts[ELEMENTS]
    at, more = first_item(text, at)
    while more and at >= 0:
        at = read_element(text, at, elements, replies, counts)
        if at >= 0:
            at, more = after_item(text, at)
    return counts[ELEMENTS] - before, at


@compile_loop
def read_record(text: Any, at: Any, record: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """Write a record as a row; return its end."""
    seen, trusted = 0, counts[TRUSTED]
    record[:] = MISSING
    field, at, seen = next_known(text, at + 1, _KEYS, seen, trusted)
    while field >= 0 and at >= 0:
        if field < _N_TEXTS:
            record[field], at = read_text(text, at, trusted)
        elif field == RESULT:
            record[field], at = read_elements(text, at, elements, replies, counts)
        else:
            record[field], at = read_bounded(text, at, field - _N_TEXTS)
        field, at, seen = next_known(text, at, _KEYS, seen, trusted)
    return at


@compile_loop
def skip_between(text: Any, at: Any) -> Any:
    """Skip brackets and commas between records of a list; return the next position."""
    while True:
        at = skip_space(text, at)
        if text[at] != COMMA and text[at] != OPEN_LIST and text[at] != CLOSE_LIST:
            return at
        at += 1


@compile_loop
def read_records(
    text: Any, span: Any, records: Any, elements: Any, replies: Any, counts: Any
) -> Any:
    """Scan plain records within ``span`` while they fit; return (position, why it ended)."""
    at = span[0]
    while True:
        at = skip_between(text, at)
        if at >= span[1]:
            return at, DONE
        row, before, before_rows = counts[RECORDS], counts[ELEMENTS], counts[ROWS]
        if row == len(records):
            return at, FULL
        after = -1
        if text[at] == OPEN:
            after = read_record(text, at, records[row], elements, replies, counts)
        if after < 0:
            counts[ELEMENTS], counts[ROWS] = before, before_rows
            return at, IRREGULAR
        counts[RECORDS] = row + 1
        at = after
