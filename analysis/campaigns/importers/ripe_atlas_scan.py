"""Compiled: results of RIPE Atlas in octets become rows of numbers, at one look.

What is not plain JSON, or not of the types that the fields have, is left to a slower reader.
Texts are spans here: where they begin, and how long they are.
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

# Columns of a record: texts by their spans, then integers, then how many elements it holds.
TEXTS = ("type", "dst_addr", "dst_name", "src_addr", "from", "proto")
INTEGERS = ("prb_id", "timestamp", "paris_id", "sent")
FIELDS = (*TEXTS, *INTEGERS, "result")
RESULT = len(FIELDS) - 1
_N_TEXTS = len(TEXTS)
MISSING = np.iinfo(np.int64).min
# Columns of an element of a result, and of a reply: bits of a round trip, and what goes with it.
HOP, ELEMENT_BITS, REPLIES = 0, 1, 2
SPAN, REPLY_BITS = 0, 1
# The bit of an element that says why there is nothing, above those of its hop.
ERROR = 1 << 8
# The bit of a late reply, above those of its round trip.
LATE = 1 << 32
NO_RTT = int(np.float32(np.nan).view(np.int32))
# A span is its begin above these bits, and its length within.
SPAN_BITS = 20
_LONGEST = (1 << SPAN_BITS) - 1
# What is counted: records, elements, replies; and whether the text is the slower reader's.
RECORDS, ELEMENTS, ROWS, TRUSTED = 0, 1, 2, 3
# How a look ended: there is no more, there is no room, or a record is not plain.
ALL, FULL, ODD = 0, 1, 2
MAX_HOP, MAX_LATE = 255, (1 << 31) - 1
# Least and greatest of each integer, then of a hop and of how late a reply is; a moment lies before
# the year 10,000.
_LEAST = np.array([-(1 << 40), 0, -(1 << 31), -(1 << 31), 0, -MAX_LATE])
_GREATEST = np.array([1 << 40, 253_402_300_799, MAX_LATE, MAX_LATE, MAX_HOP, MAX_LATE])
_HOP_BOUNDS, _LATE_BOUNDS = len(INTEGERS), len(INTEGERS) + 1
# A key that no plain text has: a round trip as the number of its bits, from the slower reader.
BITS_KEY = "\ufdd0"
# All known keys fit in as many octets, of seven bits each.
_KEY_OCTETS, _LONG_KEY, _END = 9, 1, -2
_MINUS, _TRUE_BEGIN = ord("-"), ord("t")


def _packed(key: str) -> int:
    """A key as one number, as ``pack_key`` makes it."""
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
    """The least and the greatest value of an integer field."""
    number = INTEGERS.index(name)
    return int(_LEAST[number]), int(_GREATEST[number])


class Sheets(NamedTuple):
    """Room for what is read; memory that is not used is not taken."""

    records: NDArray[np.int64]
    elements: NDArray[np.int64]
    replies: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, octets: int) -> "Sheets":
        """Room for all elements and replies that some octets can hold, and for many records."""
        least = octets // 3 + 2
        records = np.empty((octets // 16 + 256, len(FIELDS)), np.int64)
        rows = np.empty((least, 3), np.int64), np.empty((least, 2), np.int64)
        return cls(records, *rows, np.zeros(4, np.int64))


@compile_loop
def pack_key(text: Any, begin: Any, end: Any) -> Any:
    """A key as one number, of seven bits per octet; all long ones are the same."""
    if end - begin > _KEY_OCTETS:
        return np.int64(_LONG_KEY)
    found = np.int64(0)
    for i in range(begin, end):
        found = (found << 7) + np.int64(text[i])
    return found


@compile_loop
def read_text(text: Any, at: Any, trusted: Any) -> Any:
    """(span, end) of a string."""
    if text[at] != QUOTE:
        return 0, -1
    end = end_string(text, at + 1, trusted)
    if end < 0 or end - at > _LONGEST:
        return 0, -1
    return (at + 1) << SPAN_BITS | (end - at - 1), end + 1


@compile_loop
def next_member(text: Any, at: Any, first: Any, trusted: Any) -> Any:
    """(key, where its value begins) of an object's next member, or the end of the object."""
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
    """(its number, where its value begins, what was seen) of an object's next known member.

    The number is negative at the end of the object, and with a negative place where the object is
    not plain, or has a member twice. ``seen`` is 0 before the first.
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
    """(value, end) of an integer that is bounded."""
    value, end = read_integer(text, at)
    return value, end if _LEAST[number] <= value <= _GREATEST[number] else -1


@compile_loop
def read_bits(text: Any, at: Any, as_bits: Any) -> Any:
    """(bits of a round trip, end): from a decimal number, or as the slower reader wrote them."""
    if as_bits:
        return read_integer(text, at)
    value, end = read_real(text, at)
    return np.int64(np.float32(value).view(np.int32)), end


@compile_loop
def read_mark(text: Any, at: Any, trusted: Any) -> Any:
    """(whether something is said to be so, end): true, or a number that is not zero."""
    if text[at] == _MINUS or is_digit(text[at]):
        number, end = read_integer(text, at)
        return number != 0, end
    return text[at] == _TRUE_BEGIN, skip_value(text, at, trusted)


@compile_loop
def read_reply(text: Any, at: Any, replies: Any, counts: Any) -> Any:
    """The end of a reply, which becomes a row; a second one to the same packet is none."""
    span, bits, late, twice, seen, trusted = -1, NO_RTT, 0, False, 0, counts[TRUSTED]
    if text[at] != OPEN:
        return -1
    member, at, seen = next_known(text, at + 1, _OF_REPLY, seen, trusted)
    while member >= 0 and at >= 0:
        if member == 0:
            span, at = read_text(text, at, trusted)
        elif member == 1:
            late, at = LATE, read_bounded(text, at, _LATE_BOUNDS)[1]
        elif member == 2:
            twice, at = read_mark(text, at, trusted)
        else:
            bits, at = read_bits(text, at, member == 4)
        member, at, seen = next_known(text, at, _OF_REPLY, seen, trusted)
    if not twice:
        row = counts[ROWS]
        replies[row, SPAN], replies[row, REPLY_BITS] = span, (bits & 0xFFFF_FFFF) | late
        counts[ROWS] = row + 1
    return at


@compile_loop
def after_item(text: Any, at: Any) -> Any:
    """(where the next item of a list begins, whether there is one) after an item."""
    at = skip_space(text, at)
    if text[at] == CLOSE_LIST:
        return at + 1, False
    return skip_space(text, at + 1) if text[at] == COMMA else -1, True


@compile_loop
def first_item(text: Any, at: Any) -> Any:
    """(where the first item of a list begins, whether there is one)."""
    if text[at] != OPEN_LIST:
        return -1, False
    at = skip_space(text, at + 1)
    return (at + 1, False) if text[at] == CLOSE_LIST else (at, True)


@compile_loop
def read_replies(text: Any, at: Any, replies: Any, counts: Any) -> Any:
    """(number, end) of a list of replies."""
    before = counts[ROWS]
    at, more = first_item(text, at)
    while more and at >= 0:
        at = read_reply(text, at, replies, counts)
        if at >= 0:
            at, more = after_item(text, at)
    return counts[ROWS] - before, at


@compile_loop
def read_element(text: Any, at: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """The end of an element of a result, a row: a hop with replies, or a round trip.

    A second round trip of the same packet is none.
    """
    hop, bits, number, error, twice, seen, trusted = 0, NO_RTT, 0, 0, False, 0, counts[TRUSTED]
    if text[at] != OPEN:
        return -1
    member, at, seen = next_known(text, at + 1, _OF_ELEMENT, seen, trusted)
    while member >= 0 and at >= 0:
        if member == 0:
            hop, at = read_bounded(text, at, _HOP_BOUNDS)
        elif member == 1:
            number, at = read_replies(text, at, replies, counts)
        elif member == 2:
            twice, at = read_mark(text, at, trusted)
        elif member == 3:
            error, at = ERROR, skip_value(text, at, trusted)
        else:
            bits, at = read_bits(text, at, member == 5)
        member, at, seen = next_known(text, at, _OF_ELEMENT, seen, trusted)
    if not twice or number:
        row = counts[ELEMENTS]
        elements[row, HOP], elements[row, ELEMENT_BITS] = hop | error, bits
        elements[row, REPLIES] = number
        counts[ELEMENTS] = row + 1
    return at


@compile_loop
def read_elements(text: Any, at: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """(number, end) of a result."""
    before = counts[ELEMENTS]
    at, more = first_item(text, at)
    while more and at >= 0:
        at = read_element(text, at, elements, replies, counts)
        if at >= 0:
            at, more = after_item(text, at)
    return counts[ELEMENTS] - before, at


@compile_loop
def read_record(text: Any, at: Any, record: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """The end of a record, which fills a row."""
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
    """Where the next record may begin, behind the brackets and commas of a list of them."""
    while True:
        at = skip_space(text, at)
        if text[at] != COMMA and text[at] != OPEN_LIST and text[at] != CLOSE_LIST:
            return at
        at += 1


@compile_loop
def read_records(
    text: Any, span: Any, records: Any, elements: Any, replies: Any, counts: Any
) -> Any:
    """(place, how it ended): as many records as are plain and fit, between two places."""
    at = span[0]
    while True:
        at = skip_between(text, at)
        if at >= span[1]:
            return at, ALL
        row, before, before_rows = counts[RECORDS], counts[ELEMENTS], counts[ROWS]
        if row == len(records):
            return at, FULL
        after = -1
        if text[at] == OPEN:
            after = read_record(text, at, records[row], elements, replies, counts)
        if after < 0:
            counts[ELEMENTS], counts[ROWS] = before, before_rows
            return at, ODD
        counts[RECORDS] = row + 1
        at = after
