"""Parse replies from wire form into records, within bounds: every byte of a reply is untrusted.

Compression pointers are followed backwards only, nothing is read past the packet, and what cannot
be parsed raises ``Malformed``.
"""

import struct
from typing import NamedTuple

from core.records import Record
from crawlers.dns.message import Malformed
from crawlers.dns.name_codec import Names
from crawlers.dns.reply_cache import SectionCache, SectionTail, read_tail
from crawlers.dns.section_reader import FAULTS, read_records

_TRUNCATED, _AUTHORITATIVE = 0x0200, 0x0400
_HEADER = struct.Struct("!HHHHHH")
# A named tuple made this way takes half the time.
_make = tuple.__new__


class Reply(NamedTuple):
    """A parsed reply; ``scope`` is the prefix length that a client-subnet option is valid for."""

    rcode: int
    truncated: bool
    authoritative: bool
    answers: tuple[Record, ...] = ()
    authorities: tuple[Record, ...] = ()
    additionals: tuple[Record, ...] = ()
    scope: int | None = None


def read_reply(
    packet: bytes,
    question_end: int,
    *,
    additionals: bool = False,
    tails: SectionCache | None = None,
) -> Reply:
    """Parse a reply with a matched question that ends there; ``Malformed``."""
    try:
        _, flags, _, n_answers, _, _ = _HEADER.unpack_from(packet)
        if flags & _TRUNCATED:
            return _read_truncated(packet, question_end, additionals)
        names = Names(packet)
        answers, start = read_records(names, question_end, n_answers)
        tail = read_tail(names, start, additionals) if tails is None else tails.get(packet, start)
    except FAULTS as error:
        raise Malformed(str(error)) from error
    rcode = flags & 15 | tail.rcode
    authoritative = flags & _AUTHORITATIVE != 0
    return _make(Reply, (rcode, False, authoritative, answers, *tail[:3]))


def _read_truncated(packet: bytes, question_end: int, additionals: bool) -> Reply:
    # The end of a truncated reply may be cut anywhere: a section counts if it is whole.
    _, flags, _, n_answers, _, _ = _HEADER.unpack_from(packet)
    names, tail = Names(packet), SectionTail()
    answers: tuple[Record, ...] = ()
    try:
        answers, start = read_records(names, question_end, n_answers)
        tail = read_tail(names, start, additionals)
    except FAULTS:
        pass
    authoritative = flags & _AUTHORITATIVE != 0
    return Reply(flags & 15 | tail.rcode, True, authoritative, answers, *tail[:3])
