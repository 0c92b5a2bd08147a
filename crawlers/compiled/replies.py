"""Compiled reader of replies: from a whole reply to one JSON line, as ``files.jsonl`` writes it.

A reply is accepted only if it is complete and every octet of it is understood; what is refused is
read by the reference engine, which decides what it means.
"""

from typing import Any

import numpy as np

from core.jit import compile_bare
from crawlers.compiled.layout import (
    A_DATA,
    A_DATA_END,
    A_NAME,
    A_NAME_END,
    A_TYPE,
    LONGEST_LINE,
    SERVER_TEXT,
)
from crawlers.compiled.names import REFUSED, read_name
from crawlers.compiled.records import MOST_RECORD, NAME_FIELD, list_record, read_four, read_two
from crawlers.compiled.text import write_if, write_number, write_padded, write_part, write_text

_CNAME, _SOA, _OPT = 5, 6, 41
_AA = 4
_CLIENT_SUBNET = 8
_HEADER, _PAIR = 12, 4
_MOST_ANSWERS, _MOST_LINKS = 23, 8
NOERROR, NODATA, NXDOMAIN = 0, 1, 2
_TYPE_FIELD = np.frombuffer(b'","type":"', np.uint8)
_STATUS_NOERROR = np.frombuffer(b'","status":"NOERROR","answers":[', np.uint8)
_STATUS_NODATA = np.frombuffer(b'","status":"NODATA","answers":[', np.uint8)
_STATUS_NXDOMAIN = np.frombuffer(b'","status":"NXDOMAIN","answers":[', np.uint8)
_AUTHORITIES = np.frombuffer(b'],"authorities":[', np.uint8)
_AT_FIELD = np.frombuffer(b',"at":"', np.uint8)
_END = np.frombuffer(b'"}\n', np.uint8)
_COMMA, _DOT = 44, 46


@compile_bare
def classify(packet: Any, size: Any) -> Any:
    """Return the status that flags and counts of a reply stand for, or ``REFUSED``.

    QR set, opcode 0, not truncated, one question; answers only where there is no error.
    """
    if size < _HEADER or packet[2] & 0xFA != 0x80 or packet[3] & 0x40 or read_two(packet, 4) != 1:
        return REFUSED
    rcode, answers = packet[3] & 15, read_two(packet, 6)
    if rcode == 0 and answers <= _MOST_ANSWERS:
        return NOERROR if answers else NODATA
    return NXDOMAIN if rcode == 3 and answers == 0 else REFUSED


@compile_bare
def is_same(out: Any, a: Any, a_end: Any, b: Any, b_end: Any) -> Any:
    """Whether two texts are the same."""
    if a_end - a != b_end - b:
        return False
    for i in range(a_end - a):  # noqa: SIM110 -- loops are what the compiler knows
        if out[np.uintp(a + i)] != out[np.uintp(b + i)]:
            return False
    return True


@compile_bare
def is_below(out: Any, name: Any, name_end: Any, zone: Any, zone_end: Any) -> Any:
    """Whether a name is a zone or below it; the root has no octets."""
    start = name_end - (zone_end - zone)
    if start < name or not is_same(out, start, name_end, zone, zone_end):
        return False
    return start in (name, name_end) or out[start - 1] == _DOT


@compile_bare
def is_authoritative(  # noqa: PLR0913
    packet: Any, status: Any, out: Any, chain: Any, records: Any, first: Any, zone_octets: Any
) -> Any:
    """Whether a written reply ends its query by the rules of ``iterative.referral``.

    AA is set, every record lies in the zone that was queried, and so does a chain of aliases; a
    reply without data has a start of authority at or above the name. Its records are those from
    row ``first`` on; the zone is the end of the name, of so many octets.
    """
    if packet[2] & _AA == 0:
        return False
    begin, end = chain[0, 0], chain[0, 1]
    zone = end - zone_octets
    answers = read_two(packet, 6) if status == NOERROR else 0
    is_ended = status != NODATA
    for i in range(answers + read_two(packet, 8)):
        row = records[first + i]
        if not is_below(out, row[A_NAME], row[A_NAME_END], zone, end):
            return False
        if row[A_TYPE] == _SOA:
            is_ended |= is_below(out, begin, end, row[A_NAME], row[A_NAME_END])
        is_alias = i < answers and row[A_TYPE] == _CNAME
        if is_alias and not is_below(out, row[A_DATA], row[A_DATA_END], zone, end):
            return False
    return is_ended


@compile_bare
def write_section(  # noqa: PLR0913
    packet: Any,
    size: Any,
    at: Any,
    count: Any,
    out: Any,
    put: Any,
    end: Any,
    has_lines: Any,
    records: Any,
    first: Any,
) -> Any:
    """Write so many records, and list them from row ``first`` on.

    Returns the offsets behind them in packet and text.
    """
    for i in range(count):
        if put + MOST_RECORD > end:
            return REFUSED, put
        if i:
            out[put] = _COMMA
            put += 1
        at, put, _, _, _, _, _ = list_record(
            packet, size, at, out, put, has_lines, records, first + i
        )
        if at < 0:
            break
    return at, put


@compile_bare
def write_answers(  # noqa: C901, PLR0913
    packet: Any,
    size: Any,
    at: Any,
    count: Any,
    code: Any,
    chain: Any,
    out: Any,
    put: Any,
    end: Any,
    has_lines: Any,
    records: Any,
    first: Any,
) -> Any:
    """Write the answers if they are one chain of aliases in order, with records of ``code`` behind.

    ``chain`` are rows of start and end of the names in it; the first is the query name. Returns the
    offsets behind the answers in packet and text.
    """
    links, found_any = 0, False
    for i in range(count):
        if put + MOST_RECORD > end:
            return REFUSED, put
        if i:
            out[put] = _COMMA
            put += 1
        at, put, found, owner, owner_end, data_at, data_end = list_record(
            packet, size, at, out, put, has_lines, records, first + i
        )
        if at < 0 or not is_same(out, owner, owner_end, chain[links, 0], chain[links, 1]):
            return REFUSED, put
        if found == code:
            found_any = True
        elif found != _CNAME or found_any or links + 1 >= _MOST_LINKS:
            return REFUSED, put
        else:
            # A name that the chain has held before is a loop.
            for j in range(links + 1):
                if is_same(out, data_at, data_end, chain[j, 0], chain[j, 1]):
                    return REFUSED, put
            links += 1
            chain[links, 0], chain[links, 1] = data_at, data_end
    return (at if found_any else REFUSED), put


@compile_bare
def skip_name(packet: Any, size: Any, at: Any) -> Any:
    """Return the offset behind an unused name, or ``REFUSED``."""
    while at < size:
        length = np.int64(packet[at])
        if length == 0:
            return at + 1
        if length >= 192:
            return at + 2
        if length > 63:
            return REFUSED
        at += length + 1
    return REFUSED


@compile_bare
def is_plain_edns(packet: Any, at: Any, end: Any) -> Any:
    """Whether options of EDNS are whole, and none of them states what a reader has to know."""
    while at < end:
        if at + _PAIR > end or read_two(packet, at) == _CLIENT_SUBNET:
            return False
        at += _PAIR + read_two(packet, at + 2)
    return at == end


@compile_bare
def skip_additionals(packet: Any, size: Any, at: Any, count: Any) -> Any:
    """Return the offset behind the additional section, or ``REFUSED``."""
    has_edns = False
    for _ in range(count):
        name = at
        at = skip_name(packet, size, at)
        if at < 0 or at + 10 > size:
            return REFUSED
        code, end = read_two(packet, at), at + 10 + read_two(packet, at + 8)
        if end > size:
            return REFUSED
        if code == _OPT:
            # The upper bits of the response code are in the lifetime (RFC 6891 section 6.1.3).
            is_odd = has_edns or packet[name] != 0 or read_four(packet, at + 4) >> 24
            if is_odd or not is_plain_edns(packet, at + 10, end):
                return REFUSED
            has_edns = True
        at = end
    return at


@compile_bare
def write_end(out: Any, put: Any, server: Any, length: Any, rtt_us: Any, time_text: Any) -> Any:
    """Write the end of a line: server, round trip and time, which is text already."""
    put = write_part(out, put, server, 0, length)
    put = write_number(out, put, rtt_us // 1000)
    out[put] = _DOT
    put = write_padded(out, put + 1, rtt_us % 1000, 3)
    put = write_text(out, write_text(out, put, _AT_FIELD), time_text)
    return write_text(out, put, _END)


@compile_bare
def write_reply(  # noqa: PLR0913
    packet: Any,
    size: Any,
    question_end: Any,
    status: Any,
    code: Any,
    type_text: Any,
    chain: Any,
    out: Any,
    put: Any,
    has_lines: Any,
    records: Any,
    first: Any,
) -> Any:
    """Write a reply up to its authorities; returns the offset behind, or ``REFUSED``.

    The question was matched before and ends at ``question_end``; ``code`` is its type, and
    ``type_text`` begins with the length of the type's name. Its records are listed from row
    ``first`` of ``records`` on, if there are rows; its name is the first one of ``chain``. Without
    ``has_lines`` only names and data are written.
    """
    end = put + LONGEST_LINE - SERVER_TEXT
    put = write_if(out, put, NAME_FIELD, has_lines)
    chain[0, 0] = put
    at, put = read_name(packet, _HEADER, question_end - _PAIR, out, put)
    if at != question_end - _PAIR:
        return REFUSED
    chain[0, 1] = put
    if has_lines:
        put = write_text(out, put, _TYPE_FIELD)
        put = write_part(out, put, type_text, 1, 1 + np.int64(type_text[0]))
    at = question_end
    if status == NOERROR:
        put = write_if(out, put, _STATUS_NOERROR, has_lines)
        count = read_two(packet, 6)
        at, put = write_answers(
            packet, size, at, count, code, chain, out, put, end, has_lines, records, first
        )
        first += count
    elif status == NODATA:
        put = write_if(out, put, _STATUS_NODATA, has_lines)
    else:
        put = write_if(out, put, _STATUS_NXDOMAIN, has_lines)
    if at < 0:
        return REFUSED
    put = write_if(out, put, _AUTHORITIES, has_lines)
    count = read_two(packet, 8)
    at, put = write_section(packet, size, at, count, out, put, end, has_lines, records, first)
    if at < 0 or skip_additionals(packet, size, at, read_two(packet, 10)) != size:
        return REFUSED
    return put
