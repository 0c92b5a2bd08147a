"""Compiled: results of RIPE Atlas in octets become rows of numbers, at one look.

What is not plain JSON, or not of the types that the fields have, is left to a slower reader.
Texts are spans here: where they begin, and how long they are.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.wide_area.json_tokens import (
    CLOSE,
    CLOSE_LIST,
    COMMA,
    OPEN,
    OPEN_LIST,
    QUOTE,
    end_key,
    end_string,
    read_integer,
    read_real,
    skip_space,
    skip_value,
)
from analysis.wide_area.kernels import compile_loop

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
# Least and greatest of each integer; a moment lies before the year 10,000.
_LEAST = np.array([-(1 << 40), 0, -(1 << 31), -(1 << 31)])
_GREATEST = np.array([1 << 40, 253_402_300_799, (1 << 31) - 1, (1 << 31) - 1])
MAX_HOP, MAX_LATE = 255, (1 << 31) - 1
# A key that no plain text has: a round trip as the number of its bits, from the slower reader.
BITS_KEY = "\ufdd0"
# All known keys fit in as many octets, of seven bits each.
_KEY_OCTETS, _LONG_KEY, _END = 9, 1, -2


def _packed(key: str) -> int:
    """A key as one number, as ``pack_key`` makes it."""
    found = 0
    for octet in key.encode():
        found = (found << 7) + octet
    return found


_KEYS = np.array([_packed(k) for k in FIELDS], np.int64)
_K_HOP, _K_RESULT, _K_FROM, _K_RTT, _K_LATE, _K_BITS = (
    _packed(k) for k in ("hop", "result", "from", "rtt", "late", BITS_KEY)
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
def read_bits(text: Any, at: Any, key: Any) -> Any:
    """(bits of a round trip, end): from a decimal number, or as the slower reader wrote them."""
    if key == _K_BITS:
        return read_integer(text, at)
    value, end = read_real(text, at)
    return np.int64(np.float32(value).view(np.int32)), end


@compile_loop
def read_reply(text: Any, at: Any, replies: Any, counts: Any) -> Any:
    """The end of a reply, which becomes a row."""
    span, bits, late, seen, first = -1, NO_RTT, 0, 0, True
    if text[at] != OPEN:
        return -1
    at += 1
    while at >= 0:
        key, at = next_member(text, at, first, counts[TRUSTED])
        if key == _END or at < 0:
            break
        first, bit = False, 0
        if key == _K_FROM:
            span, at = read_text(text, at, counts[TRUSTED])
            bit = 1
        elif key == _K_RTT or (key == _K_BITS and counts[TRUSTED]):
            bits, at = read_bits(text, at, key)
            bit = 2
        elif key == _K_LATE:
            number, at = read_integer(text, at)
            late, bit = LATE, 4
            at = at if abs(number) <= MAX_LATE else -1
        else:
            at = skip_value(text, at, counts[TRUSTED])
        at = -1 if seen & bit else at
        seen |= bit
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
    """The end of an element of a result, a row: a hop with replies, or a round trip."""
    hop, bits, number, seen, first = 0, NO_RTT, 0, 0, True
    if text[at] != OPEN:
        return -1
    at += 1
    while at >= 0:
        key, at = next_member(text, at, first, counts[TRUSTED])
        if key == _END or at < 0:
            break
        first, bit = False, 0
        if key == _K_HOP:
            hop, at = read_integer(text, at)
            bit = 1
            at = at if 0 <= hop <= MAX_HOP else -1
        elif key == _K_RTT or (key == _K_BITS and counts[TRUSTED]):
            bits, at = read_bits(text, at, key)
            bit = 2
        elif key == _K_RESULT:
            number, at = read_replies(text, at, replies, counts)
            bit = 4
        else:
            at = skip_value(text, at, counts[TRUSTED])
        at = -1 if seen & bit else at
        seen |= bit
    row = counts[ELEMENTS]
    elements[row, HOP], elements[row, ELEMENT_BITS], elements[row, REPLIES] = hop, bits, number
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
def read_bounded(text: Any, at: Any, number: Any) -> Any:
    """(value, end) of an integer field."""
    value, end = read_integer(text, at)
    return value, end if _LEAST[number] <= value <= _GREATEST[number] else -1


@compile_loop
def field_of(key: Any) -> Any:
    """The column of a key; -1 for others."""
    for field in range(len(_KEYS)):
        if _KEYS[field] == key:
            return field
    return -1


@compile_loop
def read_record(text: Any, at: Any, record: Any, elements: Any, replies: Any, counts: Any) -> Any:
    """The end of a record, which fills a row."""
    seen, first = 0, True
    record[:] = MISSING
    at += 1
    while at >= 0:
        key, at = next_member(text, at, first, counts[TRUSTED])
        if key == _END or at < 0:
            break
        first = False
        field = field_of(key)
        if field < 0:
            at = skip_value(text, at, counts[TRUSTED])
            continue
        if field < _N_TEXTS:
            record[field], at = read_text(text, at, counts[TRUSTED])
        elif field == RESULT:
            record[field], at = read_elements(text, at, elements, replies, counts)
        else:
            record[field], at = read_bounded(text, at, field - _N_TEXTS)
        at = -1 if (seen >> field) & 1 else at
        seen |= 1 << field
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
