"""DNS messages: queries are encoded from parts, replies are parsed by a bounded reader.

Every byte of a reply is hostile. The reader never follows a compression pointer forwards, never
reads past the packet, and answers anything it does not understand with ``Malformed``.
"""

import socket
import struct
from dataclasses import dataclass

from core.errors import BadInput, NephoscopeError
from core.records import Record

TYPE_CODES = {
    "A": 1,
    "NS": 2,
    "CNAME": 5,
    "SOA": 6,
    "PTR": 12,
    "MX": 15,
    "TXT": 16,
    "AAAA": 28,
    "SRV": 33,
    "NAPTR": 35,
    "DNAME": 39,
    "OPT": 41,
    "DS": 43,
    "SSHFP": 44,
    "RRSIG": 46,
    "NSEC": 47,
    "DNSKEY": 48,
    "NSEC3": 50,
    "TLSA": 52,
    "SVCB": 64,
    "HTTPS": 65,
    "AXFR": 252,
    "CAA": 257,
}
TYPE_NAMES = {code: name for name, code in TYPE_CODES.items()}
EDNS_SIZE = 1232
# Name OPT, class = payload size, no flags, no options (RFC 6891).
OPT_RECORD = b"\0\0\x29" + struct.pack("!HIH", EDNS_SIZE, 0, 0)
_HEADER = struct.Struct("!HHHHHH")
_FIXED = struct.Struct("!HHIH")
_MAX_RECORDS = 8_192
_MAX_NAME_TEXT = 1_024


class Malformed(NephoscopeError):
    """A reply that is no well-formed DNS message."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed reply: codes, and the records of two sections."""

    rcode: int
    truncated: bool
    answers: tuple[Record, ...]
    authorities: tuple[Record, ...]


def encode_name(name: str) -> bytes:
    """Wire form of a name; raises ``BadInput`` for one that DNS cannot carry."""
    wire = b""
    try:
        for label in name.encode("ascii").split(b".") if name else ():
            if not 0 < len(label) < 64:
                raise BadInput(f"{name[:80]!r} has a label that is empty or over 63 bytes")
            wire += bytes((len(label),)) + label
    except UnicodeEncodeError as error:
        raise BadInput(f"{name[:80]!r} is not ASCII") from error
    if len(wire) > 254:
        raise BadInput(f"{name[:80]!r}… is longer than 253 characters")
    return wire + b"\0"


def encode_question(name: str, rrtype: str) -> bytes:
    """The question section."""
    return encode_name(name) + struct.pack("!HH", TYPE_CODES[rrtype], 1)


def encode_query(query_id: int, question: bytes, *, edns: bool = True) -> bytes:
    """A whole query with recursion desired."""
    if edns:
        return _HEADER.pack(query_id, 0x0100, 1, 0, 0, 1) + question + OPT_RECORD
    return _HEADER.pack(query_id, 0x0100, 1, 0, 0, 0) + question


def read_reply(packet: bytes, question_length: int) -> Reply:
    """Parse a reply whose question section was matched already; raises ``Malformed``."""
    flags, _, n_answers, n_authorities = struct.unpack_from("!HHHH", packet, 2)
    if n_answers + n_authorities > _MAX_RECORDS:
        raise Malformed("more records than a message can sensibly hold")
    reader = _Reader(packet)
    offset = 12 + question_length
    try:
        answers, offset = reader.records(offset, n_answers)
        # The end of a truncated reply may be cut anywhere, so it is not read any further.
        truncated = bool(flags & 0x0200)
        authorities = [] if truncated else reader.records(offset, n_authorities)[0]
    except (IndexError, struct.error, ValueError) as error:
        if flags & 0x0200:
            return Reply(flags & 15, True, (), ())
        raise Malformed(str(error)) from error
    return Reply(flags & 15, truncated, tuple(answers), tuple(authorities))


class _Reader:
    """Reads records from one packet, remembering names by offset."""

    __slots__ = ("names", "packet")

    def __init__(self, packet: bytes) -> None:
        self.packet = packet
        self.names: dict[int, str] = {}

    def records(self, offset: int, count: int) -> tuple[list[Record], int]:
        packet, found = self.packet, []
        for _ in range(count):
            name, offset = self.name(offset)
            code, rrclass, ttl, length = _FIXED.unpack_from(packet, offset)
            offset += 10
            end = offset + length
            if end > len(packet):
                raise ValueError("record data runs past the packet")
            if rrclass == 1 and code != 41:
                kind = TYPE_NAMES.get(code) or f"TYPE{code}"
                # A TTL with the top bit set counts as zero (RFC 2181 section 8).
                found.append(
                    Record(name, kind, ttl if ttl < 2**31 else 0, self.data(code, offset, end))
                )
            offset = end
        return found, offset

    def name(self, offset: int) -> tuple[str, int]:
        """The name at ``offset`` in lower case without final dot, and the offset behind it."""
        packet = self.packet
        if packet[offset] >= 0xC0:
            known = self.names.get((packet[offset] & 0x3F) << 8 | packet[offset + 1])
            if known is not None:
                return known, offset + 2
        labels, after = self._labels(offset)
        text = ".".join(labels)
        if len(text) > _MAX_NAME_TEXT:
            raise ValueError("name too long")
        self.names[offset] = text
        return text, after

    def _labels(self, offset: int) -> tuple[list[str], int]:
        packet = self.packet
        labels: list[str] = []
        after, lowest = -1, offset
        while length := packet[offset]:
            if length >= 0xC0:
                target = (length & 0x3F) << 8 | packet[offset + 1]
                after = offset + 2 if after < 0 else after
                # Pointers must go strictly backwards, so that no chain of them can loop.
                if target >= lowest:
                    raise ValueError("compression pointer does not point backwards")
                lowest = offset = target
                continue
            label = packet[offset + 1 : offset + 1 + length]
            if length >= 0x40 or len(label) < length or len(labels) > 126:
                raise ValueError("bad label, or a name of more than 127 labels")
            labels.append(_label_text(label))
            offset += 1 + length
        return labels, offset + 1 if after < 0 else after

    def data(self, code: int, offset: int, end: int) -> str:
        packet = self.packet
        if code == 1:
            if end - offset != 4:
                raise ValueError("A record is not 4 bytes")
            return socket.inet_ntoa(packet[offset:end])
        if code == 28:
            if end - offset != 16:
                raise ValueError("AAAA record is not 16 bytes")
            return socket.inet_ntop(socket.AF_INET6, packet[offset:end])
        if code in (2, 5, 12):
            return self._whole_name(offset, end)
        return self._other_data(code, offset, end)

    def _whole_name(self, offset: int, end: int) -> str:
        name, after = self.name(offset)
        if after != end:
            raise ValueError("name does not fill its record")
        return name

    def _other_data(self, code: int, offset: int, end: int) -> str:
        packet = self.packet
        if code == 15:
            preference = struct.unpack_from("!H", packet, offset)[0]
            return f"{preference} {self._whole_name(offset + 2, end)}"
        if code == 33:
            numbers = struct.unpack_from("!HHH", packet, offset)
            return " ".join(map(str, numbers)) + " " + self._whole_name(offset + 6, end)
        if code == 16:
            return _text_strings(packet[offset:end])
        if code == 6:
            return self._soa(offset, end)
        if code == 257:
            return _caa(packet[offset:end])
        # RFC 3597: a type without a presentation form of its own.
        return f"\\# {end - offset} {packet[offset:end].hex()}".rstrip()

    def _soa(self, offset: int, end: int) -> str:
        primary, offset = self.name(offset)
        mailbox, offset = self.name(offset)
        if end - offset != 20:
            raise ValueError("SOA numbers are not 20 bytes")
        numbers = struct.unpack_from("!IIIII", self.packet, offset)
        return " ".join([primary, mailbox, *map(str, numbers)])


def _label_text(label: bytes) -> str:
    text = label.decode("latin-1").lower()
    if text.isascii() and "." not in text and "\\" not in text and text.isprintable():
        return text
    # Bytes that would change the meaning of the text are written as \DDD (RFC 1035 section 5.1).
    return "".join(
        chr(b) if 33 <= b <= 126 and b not in (46, 92) else f"\\{b:03d}" for b in label.lower()
    )


def _text_strings(data: bytes) -> str:
    strings, offset = [], 0
    while offset < len(data):
        length = data[offset]
        if offset + 1 + length > len(data):
            raise ValueError("text runs past its record")
        strings.append(_quote(data[offset + 1 : offset + 1 + length]))
        offset += 1 + length
    return " ".join(strings)


def _quote(data: bytes) -> str:
    inner = "".join(
        f"\\{chr(b)}" if b in (34, 92) else chr(b) if 32 <= b <= 126 else f"\\{b:03d}" for b in data
    )
    return f'"{inner}"'


def _caa(data: bytes) -> str:
    if len(data) < 2 or len(data) < 2 + data[1] or not data[1]:
        raise ValueError("CAA record too short")
    tag = data[2 : 2 + data[1]].decode("ascii", "replace")
    return f"{data[0]} {tag} {_quote(data[2 + data[1] :])}"
