"""Replies from wire form to records, by a bounded reader: every byte of a reply is hostile.

It follows compression pointers backwards only, reads nothing past the packet, and answers what
it does not understand with ``Malformed``. ``TailCache`` saves it from reading the same name
servers of a zone again for each name in that zone.
"""

import struct
from socket import inet_ntoa
from typing import NamedTuple

from core.records import Record
from crawlers.labels import Names
from crawlers.rdata import WRITERS, find_writer
from crawlers.wire import Malformed

_OPT, _CLIENT_SUBNET = 41, 8
_TRUNCATED, _AUTHORITATIVE = 0x0200, 0x0400
_HEADER = struct.Struct("!HHHHHH")
_FIXED = struct.Struct("!HHIH")
# A record whose owner is a pointer, as most are.
_POINTED = struct.Struct("!HHHIH")
# All that hostile bytes can make the readers raise.
_FAULTS = (IndexError, OSError, ValueError, struct.error)
# A named tuple made this way takes half the time.
_make = tuple.__new__


class Tail(NamedTuple):
    """What stands behind the answers; ``rcode`` has the upper eight bits only."""

    authorities: tuple[Record, ...] = ()
    additionals: tuple[Record, ...] = ()
    scope: int | None = None
    rcode: int = 0


class Reply(NamedTuple):
    """A parsed reply; ``scope`` is the prefix length that a client-subnet option is valid for."""

    rcode: int
    truncated: bool
    authoritative: bool
    answers: tuple[Record, ...] = ()
    authorities: tuple[Record, ...] = ()
    additionals: tuple[Record, ...] = ()
    scope: int | None = None


class TailCache:
    """What stands behind the answers of a reply, read once for all replies that end alike.

    Names there may lean on the question or the answers by compression pointers. So an entry
    remembers where it stood and all bytes that its names leaned on, and holds for no others.
    """

    # A typical tail is about as long as the least that an entry counts for, so there are at
    # most 50,000 entries, and fewer when they are long.
    _BUDGET_OCTETS = 4_000_000
    _LEAST_OCTETS = 80

    def __init__(self, *, additionals: bool = False) -> None:
        self._additionals = additionals
        self._left_octets = self._BUDGET_OCTETS
        # By raw bytes: where they stood, which bytes before them they leaned on, and what they
        # meant for each value of those bytes. Zones of one operator end alike byte for byte.
        self._entries: dict[bytes, tuple[int, int, int, dict[bytes, Tail]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, packet: bytes, start: int) -> Tail:
        """The sections from ``start``, where the authority begins; raises ``Malformed``."""
        # The key holds the two counts as well: they say which record is in which section.
        key = packet[8:12] + packet[start:]
        entry = self._entries.get(key)
        if entry is not None:
            at, low, high, meanings = entry
            tail = meanings.get(packet[low:high]) if at == start or at < 0 else None
            if tail is not None:
                return tail
        return self._read(key, packet, start)

    def _read(self, key: bytes, packet: bytes, start: int) -> Tail:
        names = Names(packet, start)
        try:
            tail = _read_tail(names, start, self._additionals)
        except _FAULTS as error:
            raise Malformed(str(error)) from error
        self._keep(key, names, start, tail)
        return tail

    def _keep(self, key: bytes, names: Names, start: int, tail: Tail) -> None:
        packet, low, high = names.packet, names.low, min(names.high, start)
        # The header holds a number that is new in each reply. And an end without a byte says
        # nothing of a packet that ends too early.
        if low < 12 or start >= len(packet):
            return
        self._left_octets -= max(len(key), self._LEAST_OCTETS)
        if self._left_octets < 0:
            self._entries.clear()
            self._left_octets = self._BUDGET_OCTETS
        # Without a name, as with EDNS alone, the place does not matter.
        at = start if names.known else -1
        entry = self._entries.get(key)
        if entry is None or entry[:3] != (at, low, high):
            entry = self._entries[key] = at, low, high, {}
        entry[3][packet[low:high]] = tail


def read_reply(
    packet: bytes, question_end: int, *, additionals: bool = False, tails: TailCache | None = None
) -> Reply:
    """Parse a reply whose question, which ends there, was matched before; ``Malformed``."""
    try:
        _, flags, _, n_answers, _, _ = _HEADER.unpack_from(packet)
        if flags & _TRUNCATED:
            return _read_truncated(packet, question_end, additionals)
        names = Names(packet)
        answers, start = _read_records(names, question_end, n_answers)
        tail = _read_tail(names, start, additionals) if tails is None else tails.get(packet, start)
    except _FAULTS as error:
        raise Malformed(str(error)) from error
    rcode = flags & 15 | tail.rcode
    authoritative = flags & _AUTHORITATIVE != 0
    return _make(Reply, (rcode, False, authoritative, answers, *tail[:3]))


def _read_truncated(packet: bytes, question_end: int, additionals: bool) -> Reply:
    # The end of a truncated reply may be cut anywhere: a section counts if it is whole.
    _, flags, _, n_answers, _, _ = _HEADER.unpack_from(packet)
    names, tail = Names(packet), Tail()
    answers: tuple[Record, ...] = ()
    try:
        answers, start = _read_records(names, question_end, n_answers)
        tail = _read_tail(names, start, additionals)
    except _FAULTS:
        pass
    authoritative = flags & _AUTHORITATIVE != 0
    return Reply(flags & 15 | tail.rcode, True, authoritative, answers, *tail[:3])


def _read_records(names: Names, offset: int, count: int) -> tuple[tuple[Record, ...], int]:
    packet, known, size = names.packet, names.known, len(names.packet)
    records: list[Record] = []
    for _ in range(count):
        if packet[offset] >= 0xC0:
            pointer, code, rrclass, ttl, length = _POINTED.unpack_from(packet, offset)
            owner = (known.get(pointer) or names.follow(pointer, offset))[0]
            offset += 12
        else:
            owner, offset = names.read(offset, size)
            code, rrclass, ttl, length = _FIXED.unpack_from(packet, offset)
            offset += 10
        end = offset + length
        if end > size or code == _OPT:
            raise ValueError("record data runs past the packet, or EDNS in a wrong section")
        if rrclass == 1:
            if ttl >= 0x80000000:  # Counts as zero (RFC 2181 section 8).
                ttl = 0
            if code == 1:
                kind, data = "A", inet_ntoa(packet[offset:end])
            else:
                kind, write = WRITERS.get(code) or find_writer(code)
                data = write(names, offset, end)
            records.append(_make(Record, (owner, kind, ttl, data)))
        offset = end
    return tuple(records), offset


def _read_tail(names: Names, offset: int, additionals: bool) -> Tail:
    packet = names.packet
    authorities, offset = _read_records(names, offset, packet[8] << 8 | packet[9])
    records: list[Record] = []
    scope, rcode, edns, size = None, 0, False, len(packet)
    for _ in range(packet[10] << 8 | packet[11]):
        start = offset
        if packet[offset] >= 0xC0:
            _, code, _, ttl, length = _POINTED.unpack_from(packet, offset)
            offset += 12 + length
        else:
            after = _skip_labels(packet, offset) if packet[offset] else offset + 1
            code, _, ttl, length = _FIXED.unpack_from(packet, after)
            offset = after + 10 + length
        if code == _OPT:
            # RFC 6891 section 6.1.1: at most one, and its name is the root.
            if edns or packet[start]:
                raise ValueError("a second EDNS record, or one with a name")
            edns, rcode, scope = True, ttl >> 20 & 0xFF0, _read_scope(packet, start + 11, offset)
        elif additionals:
            records += _read_records(names, start, 1)[0]
    # A server that miscounts its records, or sends more than them, is not to be believed in the
    # rest either; the same bytes could be read in two ways.
    if offset != size:
        raise ValueError("record data runs past the packet, or bytes behind the last record")
    return _make(Tail, (authorities, tuple(records), scope, rcode))


def _skip_labels(packet: bytes, offset: int) -> int:
    while 0 < (length := packet[offset]) < 64:
        offset += length + 1
    if 63 < length < 0xC0:
        raise ValueError("bad label type")
    return offset + 2 if length else offset + 1


def _read_scope(packet: bytes, offset: int, end: int) -> int | None:
    scope = None
    while offset < end:
        code = packet[offset] << 8 | packet[offset + 1]
        start = offset + 4
        offset = start + (packet[offset + 2] << 8 | packet[offset + 3])
        if start > end or offset > end:
            raise ValueError("EDNS option runs past its record")
        if code == _CLIENT_SUBNET and scope is None:
            scope = _subnet_scope(packet[start:offset])
    return scope


def _subnet_scope(option: bytes) -> int | None:
    # RFC 7871 section 6: family, source prefix, scope prefix, as many octets as the source needs.
    if len(option) < 4:
        return None
    family, source, scope = option[0] << 8 | option[1], option[2], option[3]
    bits = {1: 32, 2: 128}.get(family, -1)
    fits = source <= bits and scope <= bits and len(option) == 4 + (source + 7) // 8
    return scope if fits else None
