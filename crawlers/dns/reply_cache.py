"""Cache the parsed authority and additional sections that replies have in common.

Replies of a zone end with the same name servers, but compression pointers in them move with the
length of the query name. So the end of a packet is looked up by its bytes, or by those of
a template with shifted pointers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from core.records import Record
from crawlers.dns.message import Malformed
from crawlers.dns.name_codec import Names
from crawlers.dns.section_reader import FAULTS, FIXED, OPT, POINTED, read_records

_CLIENT_SUBNET = 8
_NS, _SOA = 2, 6
_KEPT_COUNTS = 4_096
# Types in the ends of replies, and how many names their data begins with.
_NAMES_IN_DATA = {1: 0, _NS: 1, _SOA: 2, 28: 0, OPT: 0}
# No pointer leads further than this.
_FARTHEST = 0x3FFF
# A named tuple made this way takes half the time.
_make = tuple.__new__


class SectionTail(NamedTuple):
    """What follows the answers; ``rcode`` has the upper eight bits only."""

    authorities: tuple[Record, ...] = ()
    additionals: tuple[Record, ...] = ()
    scope: int | None = None
    rcode: int = 0


class _Template(NamedTuple):
    """An end that may stand elsewhere: ``number`` is its bytes as one integer.

    ``mask`` has a one at the place of each pointer, so the same end moved on by ``shift`` bytes
    is ``number + shift * mask``. ``low`` to ``high`` are the bytes before it that it leaned on,
    and ``least`` is the lowest place that any of its pointers leads to, read or not.
    """

    start: int
    size: int
    number: int
    mask: int
    least: int
    low: int
    high: int
    leaned_on: bytes
    tail: SectionTail


# The bytes that an end leaned on, and what it meant for each value of them.
_Known = tuple[slice, dict[bytes, SectionTail]]
# By raw bytes and their offset. Zones of one operator end alike byte for byte.
Entries = dict[bytes, dict[int, _Known]]


class SectionCache:
    """What follows the answers of a reply, read once for all replies that end alike.

    Names there may lean on the question or the answers by compression pointers. So an entry
    remembers where it was and all bytes that its names leaned on, and holds for no others.
    """

    # A typical tail is about as long as the least that an entry counts for, so there are at
    # most 50,000 entries, and fewer when they are long; of templates at most 20,000.
    _BUDGET_OCTETS = 4_000_000
    _TEMPLATE_OCTETS = 1_600_000
    _LEAST_OCTETS = 80
    _RECORD_OCTETS = 40

    def __init__(self, *, additionals: bool = False) -> None:
        self._additionals = additionals
        self._left_octets = self._BUDGET_OCTETS
        self._left_template_octets = self._TEMPLATE_OCTETS
        # By the two counts that assign records to sections.
        self._entries: dict[bytes, Entries] = {}
        self._templates: dict[tuple[bytes, bytes], _Template] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def entries_of(self, counts: bytes) -> Entries:
        """What is known of replies with these counts of authorities and additionals."""
        found = self._entries.get(counts)
        if found is None:
            found = {}
            # Regular servers use few counts; entries of others are not found again.
            if len(self._entries) < _KEPT_COUNTS:
                self._entries[counts] = found
        return found

    def get(self, packet: bytes, start: int) -> SectionTail:
        """The sections from ``start``, where the authority begins; raises ``Malformed``."""
        try:
            leaned_on, meanings = self._entries[packet[8:12]][packet[start:]][start]
            return meanings[packet[leaned_on]]
        except KeyError:
            return self.read(packet, start)

    def read(self, packet: bytes, start: int) -> SectionTail:
        """The same for an end that is not known at its place; raises ``Malformed``."""
        return self._relocate(packet, start) or self._read(packet, start)

    def _relocate(self, packet: bytes, start: int) -> SectionTail | None:
        """The end of an earlier reply about the same zone, if it is the same but moved."""
        found = self._templates.get((_zone_of(packet), packet[8:12]))
        if found is None or len(packet) - start != found.size:
            return None
        shift = start - found.start
        leaned_on = slice(found.low + shift, found.high + shift)
        is_same = (
            found.least + shift >= 12
            and len(packet) <= _FARTHEST
            and packet[leaned_on] == found.leaned_on
            and int.from_bytes(packet[start:], "big") == found.number + shift * found.mask
        )
        if not is_same:
            return None
        self._store(packet, start, leaned_on, found.tail)
        return found.tail

    def _read(self, packet: bytes, start: int) -> SectionTail:
        names = Names(packet, start)
        try:
            tail = read_tail(names, start, self._additionals)
        except FAULTS as error:
            raise Malformed(str(error)) from error
        # The header holds a number that is new in each reply. And an empty end is no evidence for a
        # packet that is truncated.
        if names.low >= 12 and start < len(packet):
            low, high = names.low, min(names.high, start)
            leaned_on = slice(low, high) if low < high else slice(start, start)
            self._store(packet, start, leaned_on, tail)
            # What leans on an answer belongs to the zone of an alias, not to the question's.
            if leaned_on.stop <= packet.find(b"\0", 12) + 1 or leaned_on.start == start:
                self._learn(packet, start, leaned_on, tail)
        return tail

    def _store(self, packet: bytes, start: int, leaned_on: slice, tail: SectionTail) -> None:
        octets = len(packet) - start + leaned_on.stop - leaned_on.start
        # Records take as much more space than their bytes as they are short.
        records = len(tail[0]) + len(tail[1])
        self._left_octets -= max(octets, records * self._RECORD_OCTETS, self._LEAST_OCTETS)
        if self._left_octets < 0:
            for entries in self._entries.values():
                entries.clear()
            self._left_octets = self._BUDGET_OCTETS
        entry = self.entries_of(packet[8:12]).setdefault(packet[start:], {})
        known = entry.get(start)
        if known is None or known[0] != leaned_on:
            known = entry[start] = leaned_on, {}
        known[1][packet[leaned_on]] = tail

    def _learn(self, packet: bytes, start: int, leaned_on: slice, tail: SectionTail) -> None:
        """Keep an end as a template, if all its pointers are known."""
        try:
            places = list(_find_pointers(packet, start))
        except FAULTS:
            return
        size = len(packet) - start
        self._left_template_octets -= max(size, self._LEAST_OCTETS)
        if self._left_template_octets < 0:
            self._templates.clear()
            self._left_template_octets = self._TEMPLATE_OCTETS
        targets = [int.from_bytes(packet[p : p + 2], "big") & _FARTHEST for p in places]
        self._templates[_zone_of(packet), packet[8:12]] = _Template(
            start=start,
            size=size,
            number=int.from_bytes(packet[start:], "big"),
            mask=sum(1 << 8 * (size - 2 - place + start) for place in places),
            least=min(leaned_on.start, *targets, start),
            low=leaned_on.start,
            high=leaned_on.stop,
            leaned_on=packet[leaned_on],
            tail=tail,
        )


def _zone_of(packet: bytes) -> bytes:
    """The question's name without its first label, in wire form."""
    return packet[13 + packet[12] : packet.find(b"\0", 12)]


def _find_pointers(packet: bytes, offset: int) -> Iterator[int]:
    """Return the offsets of pointers in a whole end; raise one of ``FAULTS`` if not certain."""
    while offset < len(packet):
        name, pointer = _skip_name(packet, offset)
        yield from pointer
        code, _, _, length = FIXED.unpack_from(packet, name)
        name += 10
        offset = name + length
        if code not in _NAMES_IN_DATA:
            raise ValueError("a type with names outside of its data")
        for _ in range(_NAMES_IN_DATA[code]):
            name, pointer = _skip_name(packet, name)
            # Data that was not read may have any form, and what looks like a pointer may be none.
            if name > offset:
                raise ValueError("name runs past its record")
            yield from pointer


def _skip_name(packet: bytes, offset: int) -> tuple[int, tuple[int, ...]]:
    """Return the offset after a name, and the offset of its pointer if it has one."""
    while 0 < (length := packet[offset]) < 64:
        offset += length + 1
    if not length:
        return offset + 1, ()
    if (length << 8 | packet[offset + 1]) >= 0xC000 + offset:
        raise ValueError("compression pointer that does not lead backwards")
    return offset + 2, (offset,)


def read_tail(names: Names, offset: int, additionals: bool) -> SectionTail:
    """The sections behind the answers; raises one of ``FAULTS``."""
    packet = names.packet
    authorities, offset = read_records(names, offset, packet[8] << 8 | packet[9])
    records: list[Record] = []
    scope, rcode, edns, size = None, 0, False, len(packet)
    for _ in range(packet[10] << 8 | packet[11]):
        start = offset
        if packet[offset] >= 0xC0:
            _, code, _, ttl, length = POINTED.unpack_from(packet, offset)
            offset += 12 + length
        else:
            after = _skip_labels(packet, offset) if packet[offset] else offset + 1
            code, _, ttl, length = FIXED.unpack_from(packet, after)
            offset = after + 10 + length
        if code == OPT:
            # RFC 6891 section 6.1.1: at most one, and its name is the root.
            if edns or packet[start]:
                raise ValueError("a second EDNS record, or one with a name")
            edns, rcode, scope = True, ttl >> 20 & 0xFF0, _read_scope(packet, start + 11, offset)
        elif additionals:
            records += read_records(names, start, 1)[0]
    # A server that miscounts its records, or sends more than them, is not to be believed in the
    # rest either; the same bytes could be read in two ways.
    if offset != size:
        raise ValueError("record data runs past the packet, or bytes behind the last record")
    return _make(SectionTail, (authorities, tuple(records), scope, rcode))


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
