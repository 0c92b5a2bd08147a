"""Wire format of DNS messages: strict parsing of queries, compression of replies."""

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct, error, unpack_from

import dns.rdata

from testbed.server.answers import TTL_S, Reply, Row

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "MX": 15, "TXT": 16, "AAAA": 28, "OPT": 41}
TYPES |= {"DS": 43, "CAA": 257}
TYPE_NAMES = {number: name for name, number in TYPES.items()}
AXFR, IXFR = 252, 251
FORMERR, NOTIMP, BADVERS = 1, 4, 16
# RFC 1035: the UDP limit without EDNS.
PLAIN_UDP_BYTES = 512
# RFC 6891, and the DNS flag day of 2020: larger answers would be fragmented.
LARGEST_UDP_BYTES = 1232
_MAX_NAME_BYTES = 255
_HEADER = Struct("!HHHHHH")
_FIXED = Struct("!HHIH")
_OPT_TAIL = b"\0\0\x29" + LARGEST_UDP_BYTES.to_bytes(2, "big") + b"\0\0\0\0\0\0"
# QR, AA, RA: one server that knows everything speaks for owners and resolvers alike.
_FLAGS = 0x8480
_TC = 0x0200


class Malformed(Exception):
    """A malformed query; ``code`` is the response code, ``None`` for no reply."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(f"response code {code}")


@dataclass(frozen=True, slots=True)
class Query:
    """One query: ``name`` in lower case, ``raw`` with the case of the sender."""

    id: int
    name: str
    type: int
    klass: int
    recursion: bool
    raw: bytes
    udp_bytes: int
    edns: bool


def read_query(packet: bytes) -> Query:
    """Parse a query; raise ``Malformed`` for anything else."""
    if len(packet) < _HEADER.size:
        raise Malformed(None)
    ident, flags, questions, answers, authorities, extra = _HEADER.unpack_from(packet)
    if flags & 0x8000:
        raise Malformed(None)  # answering an answer could start a ping-pong
    if flags & 0x7800:
        raise Malformed(NOTIMP)
    if questions != 1 or answers or authorities:
        raise Malformed(FORMERR)
    name, at = _read_name(packet)
    if at + 4 > len(packet):
        raise Malformed(FORMERR)
    rtype, klass = unpack_from("!HH", packet, at)
    size = _read_edns(packet, at + 4, extra)
    udp_bytes = min(max(size or 0, PLAIN_UDP_BYTES), LARGEST_UDP_BYTES)
    raw = packet[_HEADER.size : at + 4]
    recursion = bool(flags & 0x0100)
    return Query(ident, name, rtype, klass, recursion, raw, udp_bytes, size is not None)


def _read_name(packet: bytes) -> tuple[str, int]:
    labels, at = [], _HEADER.size
    while at < len(packet) and (length := packet[at]):
        if length > 63 or at + 1 + length > len(packet):
            raise Malformed(FORMERR)
        labels.append(_label_text(packet[at + 1 : at + 1 + length]))
        at += 1 + length
    if at >= len(packet) or at + 1 - _HEADER.size > _MAX_NAME_BYTES:
        raise Malformed(FORMERR)
    return ".".join(labels), at + 1


def _label_text(label: bytes) -> str:
    # A dot or backslash inside a label must not be taken for a border between labels.
    return label.lower().decode("latin-1").replace("\\", "\\\\").replace(".", "\\.")


def _read_edns(packet: bytes, at: int, extra: int) -> int | None:
    """The advertised UDP size, or ``None`` without EDNS."""
    if extra == 0:
        return None
    try:
        rtype, size, ttl, _ = _FIXED.unpack_from(packet, at + 1)
    except error as problem:
        raise Malformed(FORMERR) from problem
    if extra != 1 or packet[at] != 0 or rtype != TYPES["OPT"]:
        raise Malformed(FORMERR)
    if (ttl >> 16) & 0xFF:
        raise Malformed(BADVERS)
    return int(size)


class _NameCompressor:
    """Compresses names against earlier ones in the message (RFC 1035, 4.1.4)."""

    def __init__(self, question: bytes) -> None:
        self._at: dict[str, int] = {}
        labels, at = [], 0
        while question[at]:
            labels.append((_label_text(question[at + 1 : at + 1 + question[at]]), at))
            at += 1 + question[at]
        for index, (_, offset) in enumerate(labels):
            self._at[".".join(text for text, _ in labels[index:])] = _HEADER.size + offset

    def _remember(self, name: str, at: int) -> None:
        while name and at < 0x4000 and name not in self._at:
            self._at[name] = at
            label, _, name = name.partition(".")
            at += len(label) + 1

    def pack(self, name: str, at: int) -> bytes:
        head, rest = b"", name
        while rest and rest not in self._at:
            label, _, rest = rest.partition(".")
            head += bytes((len(label),)) + label.encode("latin-1")
        tail = (0xC000 | self._at[rest]).to_bytes(2, "big") if rest else b"\0"
        self._remember(name, at)
        return head + tail


class Packer:
    """Appends rows to one message body that begins right after the raw question."""

    def __init__(self, question: bytes) -> None:
        self._names = _NameCompressor(question)
        self._start = _HEADER.size + len(question)
        self.body = bytearray()

    def add(self, row: Row) -> None:
        owner, rtype, data = row
        at = self._start + len(self.body)
        packed = self._names.pack(owner, at)
        inside = at + len(packed) + _FIXED.size
        content = self._data(rtype, data, inside)
        self.body += packed + _FIXED.pack(TYPES[rtype], 1, TTL_S, len(content)) + content

    def _data(self, rtype: str, data: str, at: int) -> bytes:
        if rtype == "A":
            return socket.inet_aton(data)
        if rtype == "AAAA":
            return socket.inet_pton(socket.AF_INET6, data)
        if rtype in ("CNAME", "NS"):
            return self._names.pack(data, at)
        if rtype == "TXT":
            return bytes((len(data),)) + data.encode("ascii")
        if rtype == "SOA":
            return self._soa(data, at)
        return dns.rdata.from_text("IN", rtype, data).to_wire() or b""

    def _soa(self, data: str, at: int) -> bytes:
        host, mailbox, *numbers = data.split(" ")
        first = self._names.pack(host, at)
        second = self._names.pack(mailbox, at + len(first))
        return first + second + b"".join(int(n).to_bytes(4, "big") for n in numbers)


@dataclass(frozen=True, slots=True)
class Packed:
    """An answer without id, question and the sender's flags; ``counts`` are rows by section."""

    code: int
    counts: tuple[int, int]
    body: bytes


def pack_reply(query: Query, reply: Reply) -> Packed:
    """Pack a reply once for all identical queries."""
    body = pack_rows(query.raw, (*reply.answers, *reply.authorities))
    return Packed(reply.code, (len(reply.answers), len(reply.authorities)), body)


def pack_rows(question: bytes, rows: Iterable[Row]) -> bytes:
    """The bytes of rows that follow a raw question."""
    packer = Packer(question)
    for row in rows:
        packer.add(row)
    return bytes(packer.body)


def frame(query: Query, packed: Packed, limit: int) -> bytes:
    """Build the message for one sender, truncated with TC when it exceeds ``limit``."""
    flags = _FLAGS | (packed.code & 0xF) | (0x0100 if query.recursion else 0)
    tail = _OPT_TAIL if query.edns else b""
    answers, authorities = packed.counts
    body = packed.body
    if _HEADER.size + len(query.raw) + len(body) + len(tail) > limit:
        flags, answers, authorities, body = flags | _TC, 0, 0, b""
    head = _HEADER.pack(query.id, flags, 1, answers, authorities, int(query.edns))
    return head + query.raw + body + tail


def refusal(packet: bytes, code: int) -> bytes:
    """Build an error reply to an unreadable packet, without a question section."""
    ident, flags = unpack_from("!HH", packet)
    opt = b""
    if code == BADVERS:  # the upper bits of the code travel in the OPT record
        opt = b"\0\0\x29" + LARGEST_UDP_BYTES.to_bytes(2, "big") + b"\x01\0\0\0\0\0"
    kept = 0x8000 | (flags & 0x7900) | (code & 0xF)
    return _HEADER.pack(ident, kept, 0, 0, 0, int(bool(opt))) + opt
