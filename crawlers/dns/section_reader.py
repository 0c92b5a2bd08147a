"""Records of one section of a reply, one after the other."""

import struct
from socket import inet_ntoa

from core.records import Record
from crawlers.dns.name_codec import Names
from crawlers.dns.rdata import WRITERS, find_writer

OPT = 41
FIXED = struct.Struct("!HHIH")
# A record with a pointer as its owner, as most have.
POINTED = struct.Struct("!HHHIH")
# All that hostile bytes can make the readers raise.
FAULTS = (IndexError, OSError, ValueError, struct.error)
# A named tuple made this way takes half the time.
_make = tuple.__new__


def read_records(names: Names, offset: int, count: int) -> tuple[tuple[Record, ...], int]:
    """So many records from ``offset`` on, and the offset behind; raises one of ``FAULTS``."""
    packet, known, size = names.packet, names.known, len(names.packet)
    records: list[Record] = []
    for _ in range(count):
        if packet[offset] >= 0xC0:
            pointer, code, rrclass, ttl, length = POINTED.unpack_from(packet, offset)
            owner = (known.get(pointer) or names.follow(pointer, offset))[0]
            offset += 12
        else:
            owner, offset = names.read(offset, size)
            code, rrclass, ttl, length = FIXED.unpack_from(packet, offset)
            offset += 10
        end = offset + length
        if end > size or code == OPT:
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
