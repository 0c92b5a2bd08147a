"""Compiled reader of records: from wire form to JSON in one step, for the frequent types."""

from typing import Any

import numpy as np

from core.jit import compile_bare
from crawlers.compiled.layout import (
    A_DATA,
    A_DATA_END,
    A_LOWER,
    A_NAME,
    A_NAME_END,
    A_TTL,
    A_TYPE,
    A_UPPER,
)
from crawlers.compiled.names import REFUSED, read_name
from crawlers.compiled.text import (
    is_mapped,
    write_if,
    write_ipv4,
    write_ipv6,
    write_number,
    write_text,
)

_A, _NS, _CNAME, _SOA, _PTR, _MX, _TXT, _AAAA, _SRV = 1, 2, 5, 6, 12, 15, 16, 28, 33
_IN = 1
_LONGEST_DATA = 1_000
# Octets that one record takes at most: two names, or data with octets written as six.
MOST_RECORD = 8_192
NAME_FIELD = np.frombuffer(b'{"name":"', np.uint8)
_TYPE_FIELD = np.frombuffer(b'","type":"', np.uint8)
_TTL_FIELD = np.frombuffer(b'","ttl":', np.uint8)
_DATA_FIELD = np.frombuffer(b',"data":"', np.uint8)
_END = np.frombuffer(b'"}', np.uint8)
_TYPE_A = np.frombuffer(b"A", np.uint8)
_TYPE_NS = np.frombuffer(b"NS", np.uint8)
_TYPE_CNAME = np.frombuffer(b"CNAME", np.uint8)
_TYPE_SOA = np.frombuffer(b"SOA", np.uint8)
_TYPE_PTR = np.frombuffer(b"PTR", np.uint8)
_TYPE_MX = np.frombuffer(b"MX", np.uint8)
_TYPE_TXT = np.frombuffer(b"TXT", np.uint8)
_TYPE_AAAA = np.frombuffer(b"AAAA", np.uint8)
_TYPE_SRV = np.frombuffer(b"SRV", np.uint8)
_SPACE, _DOT, _QUOTE, _BACKSLASH = 32, 46, 34, 92


@compile_bare
def read_two(packet: Any, at: Any) -> Any:
    """Return 16 bits in network order."""
    return np.int64(packet[at]) << 8 | np.int64(packet[at + 1])


@compile_bare
def read_four(packet: Any, at: Any) -> Any:
    """Return 32 bits in network order."""
    return read_two(packet, at) << 16 | read_two(packet, at + 2)


@compile_bare
def write_type(out: Any, put: Any, code: Any) -> Any:  # noqa: C901
    """Write the name of a type; ``REFUSED`` for the rare ones."""
    if code == _A:
        return write_text(out, put, _TYPE_A)
    if code == _NS:
        return write_text(out, put, _TYPE_NS)
    if code == _CNAME:
        return write_text(out, put, _TYPE_CNAME)
    if code == _SOA:
        return write_text(out, put, _TYPE_SOA)
    if code == _AAAA:
        return write_text(out, put, _TYPE_AAAA)
    if code == _MX:
        return write_text(out, put, _TYPE_MX)
    if code == _TXT:
        return write_text(out, put, _TYPE_TXT)
    if code == _PTR:
        return write_text(out, put, _TYPE_PTR)
    if code == _SRV:
        return write_text(out, put, _TYPE_SRV)
    return REFUSED


@compile_bare
def write_name_data(packet: Any, at: Any, end: Any, out: Any, put: Any, is_dotted: Any) -> Any:
    """Write a name that fills the record's data; the root as a dot where ``is_dotted``."""
    after, behind = read_name(packet, at, end, out, put)
    if after != end:
        return REFUSED
    if is_dotted and behind == put:
        out[put] = _DOT
        return put + 1
    return behind


@compile_bare
def write_soa(packet: Any, at: Any, end: Any, out: Any, put: Any) -> Any:
    """Write two names and five numbers."""
    for _ in range(2):
        at, behind = read_name(packet, at, end, out, put)
        if at < 0:
            return REFUSED
        if behind == put:
            out[put] = _DOT
            behind += 1
        out[behind] = _SPACE
        put = behind + 1
    if end - at != 20:
        return REFUSED
    for i in range(5):
        put = write_number(out, put, read_four(packet, at + 4 * i))
        out[put] = _SPACE
        put += 1
    return put - 1


@compile_bare
def write_srv(packet: Any, at: Any, end: Any, out: Any, put: Any) -> Any:
    """Write priority, weight, port and target."""
    if end - at < 7:
        return REFUSED
    for i in range(3):
        put = write_number(out, put, read_two(packet, at + 2 * i))
        out[put] = _SPACE
        put += 1
    return write_name_data(packet, at + 6, end, out, put, True)


@compile_bare
def write_mx(packet: Any, at: Any, end: Any, out: Any, put: Any) -> Any:
    """Write preference and exchange."""
    if end - at < 3:
        return REFUSED
    put = write_number(out, put, read_two(packet, at))
    out[put] = _SPACE
    return write_name_data(packet, at + 2, end, out, put + 1, True)


@compile_bare
def write_txt(packet: Any, at: Any, end: Any, out: Any, put: Any) -> Any:
    """Write strings of plain octets between escaped quotation marks."""
    if at >= end or end - at > _LONGEST_DATA:
        return REFUSED
    while at < end:
        after = at + 1 + np.int64(packet[at])
        if after > end:
            return REFUSED
        out[put] = _BACKSLASH
        out[put + 1] = _QUOTE
        put += 2
        for i in range(at + 1, after):
            octet = packet[i]
            if octet < 32 or octet > 126 or octet in (_QUOTE, _BACKSLASH):
                return REFUSED
            out[put] = octet
            put += 1
        out[put] = _BACKSLASH
        out[put + 1] = _QUOTE
        out[put + 2] = _SPACE
        put += 3
        at = after
    return put - 1


@compile_bare
def write_data(packet: Any, code: Any, at: Any, end: Any, out: Any, put: Any) -> Any:  # noqa: C901
    """Write a record's data; returns the offset behind it, or ``REFUSED``."""
    if code == _A:
        return write_ipv4(out, put, packet, at) if end - at == 4 else REFUSED
    if code == _AAAA:
        if end - at != 16 or is_mapped(packet, at):
            return REFUSED
        return write_ipv6(out, put, packet, at)
    if code in (_NS, _CNAME, _PTR):
        return write_name_data(packet, at, end, out, put, False)
    if code == _SOA:
        return write_soa(packet, at, end, out, put)
    if code == _MX:
        return write_mx(packet, at, end, out, put)
    if code == _TXT:
        return write_txt(packet, at, end, out, put)
    if code == _SRV:
        return write_srv(packet, at, end, out, put)
    return REFUSED


@compile_bare
def write_record(packet: Any, size: Any, at: Any, out: Any, put: Any, has_lines: Any) -> Any:
    """Write the record at ``at`` as JSON, or only its name and data without ``has_lines``.

    Returns the offset behind it in the packet (``REFUSED``: it is left to the reference engine),
    the one behind its text, its type, its lifetime, the end of the owner's text and the start of
    the data's.
    """
    refused = (REFUSED, put, 0, 0, 0, 0)
    put = write_if(out, put, NAME_FIELD, has_lines)
    at, owner_end = read_name(packet, at, size, out, put)
    if at < 0 or at + 10 > size:
        return refused
    code, ttl, end = read_two(packet, at), read_four(packet, at + 4), at + 10
    end += read_two(packet, at + 8)
    # A lifetime with its highest bit set counts as zero (RFC 2181 section 8): rare.
    if end > size or read_two(packet, at + 2) != _IN or ttl >> 31:
        return refused
    data_at = owner_end
    if has_lines:
        put = write_type(out, write_text(out, owner_end, _TYPE_FIELD), code)
        if put < 0:
            return refused
        put = write_number(out, write_text(out, put, _TTL_FIELD), ttl)
        data_at = write_text(out, put, _DATA_FIELD)
    put = write_data(packet, code, at + 10, end, out, data_at)
    if put < 0:
        return refused
    return end, write_if(out, put, _END, has_lines), code, ttl, owner_end, data_at


@compile_bare
def list_record(  # noqa: PLR0913
    packet: Any,
    size: Any,
    at: Any,
    out: Any,
    put: Any,
    has_lines: Any,
    records: Any,
    n: Any,
) -> Any:
    """Write the record at ``at``, and list it as row ``n`` of ``records`` if there are rows.

    Returns the offset behind it in the packet (``REFUSED``: it is left to the reference engine),
    the one behind its text, its type, and where the texts of its owner and its data are.
    """
    end, behind, code, ttl, owner_end, data_at = write_record(packet, size, at, out, put, has_lines)
    owner, data_end = put + len(NAME_FIELD) * has_lines, behind - len(_END) * has_lines
    if end >= 0 and n < len(records):
        row = records[n]
        row[A_NAME], row[A_NAME_END] = owner, owner_end
        row[A_DATA], row[A_DATA_END] = data_at, data_end
        row[A_TYPE], row[A_TTL] = code, ttl
        if code == _A:
            row[A_LOWER] = read_four(packet, end - 4)
        elif code == _AAAA:
            row[A_UPPER] = read_four(packet, end - 16) << 32 | read_four(packet, end - 12)
            row[A_LOWER] = read_four(packet, end - 8) << 32 | read_four(packet, end - 4)
    return end, behind, code, owner, owner_end, data_at, data_end
