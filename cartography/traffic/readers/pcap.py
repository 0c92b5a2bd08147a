"""Read packet captures: pcap in both byte orders, and pcapng.

Truncated captures are read up to the damage. A packet has its time, link type and captured bytes.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cartography.traffic.readers.line_blocks import Source

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\xc3\xd4": (">", 1_000_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000_000),
}
_SECTION = b"\x0a\x0d\x0d\x0a"
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _SIMPLE, _ENHANCED = 1, 3, 6
_RESOLUTION = 9
# The largest IP packet has 64 KiB; offloading cards hand out a few times more.
_MOST_BYTES = 1 << 20


class Packet(NamedTuple):
    """One captured packet; ``at_s`` is seconds since the epoch, ``data`` may be its head only."""

    at_s: float
    link: int
    data: bytes


@dataclass
class _ByteReader:
    """Reads exact numbers of bytes from a stream of chunks."""

    pieces: Iterator[bytes]
    held: bytes = b""
    at: int = 0

    def read(self, count: int) -> bytes:
        """Return exactly ``count`` bytes, or none at the end."""
        while len(self.held) - self.at < count:
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.held, self.at = self.held[self.at :] + piece, 0
        found = self.held[self.at : self.at + count]
        self.at += count
        return found

    @property
    def is_exhausted(self) -> bool:
        return self.at >= len(self.held)


def is_capture(head: bytes) -> bool:
    """Return whether a file begins like a capture."""
    return head[:4] in _PCAP or head[:4] == _SECTION


def read_packets(source: Source) -> Iterator[Packet]:
    """The packets of a capture; ``source.damage`` is set when it ends early or is broken."""
    stream = _ByteReader(source.chunks())
    magic = stream.read(4)
    reader = _read_sections(stream) if magic == _SECTION else _read_pcap(stream, magic)
    try:
        yield from reader
    except (_BrokenCapture, struct.error) as error:
        source.damage = source.damage or f"the capture is broken: {error}"
        return
    if not stream.is_exhausted:
        source.damage = source.damage or "the capture ends within a packet"


class _BrokenCapture(Exception):
    """The bytes are not a valid capture."""


def _read_pcap(stream: _ByteReader, magic: bytes) -> Iterator[Packet]:
    order, ticks = _PCAP[magic]
    header = stream.read(20)
    if not header:
        raise _BrokenCapture("it has no header")
    link = struct.unpack(order + "HHiIII", header)[5] & 0x0FFFFFFF
    record = struct.Struct(order + "IIII")
    while head := stream.read(16):
        seconds, fraction, size, _ = record.unpack(head)
        if size > _MOST_BYTES:
            raise _BrokenCapture(f"a packet of {size:,} bytes")
        data = stream.read(size)
        if size and not data:
            raise _BrokenCapture("it ends within a packet")
        yield Packet(seconds + fraction / ticks, link, data)


@dataclass
class _Section:
    """The byte order of a section, and its interfaces so far."""

    order: str
    interfaces: list[tuple[int, float]]


def _read_sections(stream: _ByteReader) -> Iterator[Packet]:
    section, kind_bytes = _Section("<", []), _SECTION
    while kind_bytes:
        if kind_bytes == _SECTION:
            section = _read_section_header(stream)
        else:
            kind, body = _read_block(stream, section.order, kind_bytes)
            if kind == _INTERFACE:
                section.interfaces.append(_read_interface(section.order, body))
            elif packet := _read_packet(section, kind, body):
                yield packet
        kind_bytes = stream.read(4)


def _read_section_header(stream: _ByteReader) -> _Section:
    length, magic = stream.read(4), stream.read(4)
    order = _ORDERS.get(magic)
    if order is None:
        raise _BrokenCapture("a section without its mark")
    (size,) = struct.unpack(order + "I", length)
    _read_body(stream, size, 12)
    return _Section(order, [])


def _read_block(stream: _ByteReader, order: str, kind: bytes) -> tuple[int, bytes]:
    (size,) = struct.unpack(order + "I", stream.read(4))
    return struct.unpack(order + "I", kind)[0], _read_body(stream, size, 8)


def _read_body(stream: _ByteReader, size: int, taken: int) -> bytes:
    if size < taken + 4 or size > _MOST_BYTES or size % 4:
        raise _BrokenCapture(f"a block of {size:,} bytes")
    body = stream.read(size - taken)
    if not body:
        raise _BrokenCapture("it ends within a block")
    return body[:-4]


def _read_interface(order: str, body: bytes) -> tuple[int, float]:
    """Link type and seconds per tick."""
    link, seconds, at = struct.unpack_from(order + "H", body)[0], 1e-6, 8
    while at + 4 <= len(body):
        option, size = struct.unpack_from(order + "HH", body, at)
        if option == _RESOLUTION and size:
            power = body[at + 4]
            seconds = 2.0 ** -(power & 0x7F) if power & 0x80 else 10.0**-power
        at += 4 + size + -size % 4
    return link, seconds


def _read_packet(section: _Section, kind: int, body: bytes) -> Packet | None:
    """A packet of a block of packets; blocks of other kinds are passed over."""
    if kind == _ENHANCED:
        number, high, low, size = struct.unpack_from(section.order + "IIII", body)
        link, tick_s = _interface(section, number)
        return Packet((high << 32 | low) * tick_s, link, body[20 : 20 + size])
    if kind == _SIMPLE:
        (size,) = struct.unpack_from(section.order + "I", body)
        return Packet(0.0, _interface(section, 0)[0], body[4 : 4 + size])
    return None


def _interface(section: _Section, number: int) -> tuple[int, float]:
    if number >= len(section.interfaces):
        raise _BrokenCapture(f"a packet of interface {number}, which is not described")
    return section.interfaces[number]
