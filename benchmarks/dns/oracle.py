"""A reply as dnspython reads it, and whether our reading of the same bytes is the same.

Takes a packet and what we made of it; gives nothing where both agree, or the kind of difference.
Where dnspython refuses a whole message for one record, its parts read the other records.
"""

import socket
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import dns.edns
import dns.exception
import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rdtypes.util
import dns.wire

from core.records import Record
from crawlers.dns.message_reader import Reply

_OPT, _CLIENT_SUBNET, _IN = 41, 8, 1
_STYLE = dns.rdata.RdataStyle(omit_final_dot=True)
_PLAIN = frozenset(range(33, 127)) - {46, 92}
_ADDRESSES = {1: socket.AF_INET, 28: socket.AF_INET6}
# Types with one name as their text, perhaps behind numbers, and the fields that make it.
_FIELDS = {
    2: ("target",),
    5: ("target",),
    12: ("target",),
    39: ("target",),
    15: ("preference", "exchange"),
    33: ("priority", "weight", "port", "target"),
    6: ("mname", "rname", "serial", "refresh", "retry", "expire", "minimum"),
}
# Types of which every letter is compared; in the others only names may differ in case.
_EXACT = frozenset((1, 2, 5, 6, 12, 15, 16, 28, 33, 39, 47, 64, 65, 257))


class Broken(Exception):
    """The message cannot be taken apart into records."""


class Row(NamedTuple):
    """One record as dnspython reads it; ``raw`` is its data as RFC 3597 writes it, if known."""

    name: str
    type: int
    ttl: int
    text: str
    raw: str = ""


class Reading(NamedTuple):
    """Contents of a message; ``faults`` are rules that data of some type breaks."""

    sections: tuple[tuple[Row, ...], ...]
    scope: int | None
    rcode: int
    faults: tuple[str, ...] = ()


@lru_cache(maxsize=50_000)
def _label_text(label: bytes) -> str:
    return "".join(chr(b) if b in _PLAIN else f"\\{b:03d}" for b in label.lower())


def clear_caches() -> None:
    """Drop what is kept between messages."""
    _label_text.cache_clear()


def name_text(name: Any) -> str:
    """A name as our records have it."""
    return ".".join(map(_label_text, name.labels[:-1]))


def read_message(packet: bytes) -> Reading:
    """The whole message by dnspython; raises whatever dnspython raises."""
    # Names of the operation have no part in reading a reply: it is the receiver who looks at it.
    message = dns.message.from_wire(
        packet[:2] + bytes((packet[2] & 0x87,)) + packet[3:], one_rr_per_rrset=True
    )
    sections = [
        tuple(
            Row(name_text(rrset.name), int(rrset.rdtype), rrset.ttl, data_text(rrset[0]))
            for rrset in section
            if rrset.rdclass == _IN
        )
        for section in message.sections[1:]
    ]
    scopes = (o.scopelen for o in message.options if isinstance(o, dns.edns.ECSOption))
    return Reading(tuple(sections), next(scopes, None), int(message.rcode()))


def data_text(data: Any) -> str:
    """Record data in our notation."""
    code = int(data.rdtype)
    if type(data) is dns.rdata.GenericRdata:
        return f"\\# {len(data.data)} {data.data.hex()}".rstrip()
    if code in _ADDRESSES:
        family = _ADDRESSES[code]
        return socket.inet_ntop(family, socket.inet_pton(family, data.address))
    if code in _FIELDS:
        parts = [getattr(data, field) for field in _FIELDS[code]]
        texts = [name_text(p) if isinstance(p, dns.name.Name) else str(int(p)) for p in parts]
        return " ".join(texts) if len(texts) == 1 else " ".join(text or "." for text in texts)
    if code == 47:
        bits = dns.rdtypes.util.Bitmap(data.windows).to_text()
        return " ".join([name_text(data.next) or ".", *map(_type_code, bits.split())])
    if code in (64, 65):
        priority, _, *rest = data.to_text().split(" ", 2)
        return " ".join([priority, name_text(data.target) or ".", *rest])
    return str(data.to_text(style=_STYLE))


def _type_code(word: str) -> str:
    return str(int(dns.rdatatype.from_text(word)))


class _Parts:
    """Reads record by record with dnspython's parts, and notes what data breaks which rule."""

    def __init__(self, packet: bytes, offset: int) -> None:
        self.packet = packet
        self.parser = dns.wire.Parser(packet, offset)
        self.faults: list[str] = []
        self.scope: int | None = None
        self.rcode = 0
        self.has_edns = False

    def section(self, number: int, count: int) -> tuple[Row, ...]:
        return tuple(row for _ in range(count) for row in self._record(number))

    def _record(self, section: int) -> Iterator[Row]:
        parser = self.parser
        name = parser.get_name(decompress=True)
        code, rrclass, ttl, size = parser.get_struct("!HHIH")
        start = parser.current
        if size > parser.remaining():
            raise Broken("data past the message")
        raw = self.packet[start : start + size]
        if code == _OPT:
            self._edns(section, name, ttl, size)
        elif rrclass == _IN:
            text = self._data(code, size)
            ttl = 0 if ttl > 0x7FFFFFFF else ttl
            yield Row(name_text(name), code, ttl, text, f"\\# {size} {raw.hex()}".rstrip())
        else:
            self.faults.append("a class that is not IN")
        parser.seek(start + size)

    def _data(self, code: int, size: int) -> str:
        try:
            with self.parser.restrict_to(size):
                return data_text(dns.rdata.from_wire_parser(_IN, code, self.parser, None))
        except Exception as error:
            if code in _FIELDS or code in _ADDRESSES:
                raise Broken("data that its type cannot have") from error
            self.faults.append(f"{dns.rdatatype.to_text(code)} data: {type(error).__name__}")
            return ""

    def _edns(self, section: int, name: Any, ttl: int, size: int) -> None:
        if section != 2 or self.has_edns or name != dns.name.root:
            raise Broken("EDNS where none may be")
        self.has_edns, self.rcode = True, ttl >> 20 & 0xFF0
        with self.parser.restrict_to(size):
            while self.parser.remaining() > 0:
                kind, length = self.parser.get_struct("!HH")
                if length > self.parser.remaining():
                    raise Broken("EDNS option past its record")
                self._option(kind, self.parser.get_bytes(length))

    def _option(self, kind: int, data: bytes) -> None:
        try:
            option = dns.edns.option_from_wire(kind, data, 0, len(data))
        except Exception as error:  # noqa: BLE001
            self.faults.append(f"EDNS option {kind}: {type(error).__name__}")
            return
        if isinstance(option, dns.edns.ECSOption) and self.scope is None:
            self.scope = option.scopelen


def read_parts(packet: bytes, offset: int) -> Reading:
    """Record by record; raises ``Broken`` where that cannot be done."""
    parts = _Parts(packet, offset)
    counts = [packet[at] << 8 | packet[at + 1] for at in (6, 8, 10)]
    try:
        sections = tuple(parts.section(number, count) for number, count in enumerate(counts))
        if parts.parser.remaining():
            raise Broken("bytes behind the message")
    except dns.exception.DNSException as error:
        raise Broken(str(error)) from error
    return Reading(sections, parts.scope, packet[3] & 15 | parts.rcode, tuple(parts.faults))


def cut_differences(ours: Reply, packet: bytes, offset: int) -> list[str]:
    """The same for a message with the TC bit: each section is whole or left out."""
    parts, found = _Parts(packet, offset), list[str]()
    mine = (ours.answers, ours.authorities, ours.additionals)
    for number, records in enumerate(mine):
        try:
            count = packet[6 + 2 * number] << 8 | packet[7 + 2 * number]
            rows = parts.section(number, count)
        except (Broken, dns.exception.DNSException):
            return [*found, "records of a broken section"] if any(mine[number:]) else found
        if records:
            found += _compare(records, rows)
            found += ["number of records"] if len(records) != len(rows) else []
    return found


def differences(ours: Reply, theirs: Reading) -> list[str]:
    """Kinds of differences between two readings; data shown raw is identified by its type."""
    found = [
        name
        for name, mine, other in (
            ("scope", ours.scope, theirs.scope),
            ("return code", ours.rcode, theirs.rcode),
        )
        if mine != other
    ]
    mine = (ours.answers, ours.authorities, ours.additionals)
    for records, rows in zip(mine, theirs.sections, strict=True):
        if len(records) != len(rows):
            found.append("number of records")
        found += _compare(records, rows)
    return found


def _compare(records: Iterable[Record], rows: Sequence[Row]) -> Iterator[str]:
    for record, row in zip(records, rows, strict=False):
        name, kind, ttl, text = record
        code = int(dns.rdatatype.from_text(kind))
        if code == 47 and not text.startswith("\\# "):
            following, *kinds = text.split()
            text = " ".join([following, *map(_type_code, kinds)])
        if (name, code, ttl) != row[:3]:
            yield f"owner, type or time to live of {kind}"
        elif text != row.text and (code in _EXACT or text.lower() != row.text.lower()):
            is_raw = text == row.raw or (not row.raw and text.startswith("\\# "))
            yield f"raw: {kind}" if is_raw else f"data of {kind}"
