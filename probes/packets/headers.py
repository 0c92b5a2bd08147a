"""Headers of IPv4, IPv6, ICMP, UDP and TCP: built for probes, and read from what comes back.

What comes back is untrusted: every reader gives ``None`` for octets that are not what it reads.
"""

import socket
import struct
from typing import NamedTuple

UDP, TCP = socket.IPPROTO_UDP, socket.IPPROTO_TCP
ICMP, ICMP6 = socket.IPPROTO_ICMP, socket.IPPROTO_ICMPV6
ECHO_REQUEST = {4: 8, 6: 128}
ECHO_REPLY = {4: 0, 6: 129}
UNREACHABLE = {4: 3, 6: 1}
TIME_EXCEEDED = {4: 11, 6: 3}
PORT_UNREACHABLE = {4: 3, 6: 4}
SYN, RST, ACK = 0x02, 0x04, 0x10
_ECHO = struct.Struct("!BBHHH")
_TCP = struct.Struct("!HHIIBBHHH")


class Quote(NamedTuple):
    """Contents of an ICMP error: its own type and code, and the first octets of our packet."""

    type: int
    code: int
    protocol: int
    destination: bytes
    transport: bytes


class Segment(NamedTuple):
    """The fields of a TCP segment that show whether it answers a SYN."""

    source_port: int
    port: int
    acknowledged: int
    flags: int


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo_header(source: bytes, destination: bytes, protocol: int, length: int) -> bytes:
    """What UDP and TCP checksums cover beside the packet, for either family."""
    if len(source) == 4:
        return source + destination + struct.pack("!BBH", 0, protocol, length)
    return source + destination + struct.pack("!IHBB", length, 0, 0, protocol)


def echo_request(family: int, identifier: int, sequence: int, payload: bytes) -> bytes:
    """An echo request; the checksum of IPv6 is the kernel's to fill in."""
    kind = ECHO_REQUEST[family]
    summed = checksum(_ECHO.pack(kind, 0, 0, identifier, sequence) + payload)
    own = summed if family == 4 else 0
    return _ECHO.pack(kind, 0, own, identifier, sequence) + payload


def balanced_payload(sequence: int, flow: int) -> bytes:
    """Two octets that undo the sequence number, so that only the flow changes the checksum."""
    return struct.pack("!H", (0xFFFF - sequence + flow) % 0xFFFF) + b"nephoscope"


def udp_datagram(ends: tuple[bytes, bytes], ports: tuple[int, int], tag: int) -> bytes:
    """A datagram with checksum ``tag`` (1 to 65534): ports, length and addresses stay."""
    length = 8 + 2 + 10
    start = struct.pack("!HHHH", *ports, length, 0)
    body = b"nephoscope"
    rest = checksum(pseudo_header(*ends, UDP, length) + start + b"\0\0" + body)
    # One's complement sums: the two octets that turn the checksum from ``rest`` into ``tag``.
    mend = (rest - tag) % 0xFFFF
    return struct.pack("!HHHHH", *ports, length, tag, mend) + body


def syn_segment(ends: tuple[bytes, bytes], ports: tuple[int, int], sequence: int) -> bytes:
    """A SYN without options."""
    start = _TCP.pack(*ports, sequence, 0, 5 << 4, SYN, 64_240, 0, 0)
    summed = checksum(pseudo_header(*ends, TCP, len(start)) + start)
    return _TCP.pack(*ports, sequence, 0, 5 << 4, SYN, 64_240, summed, 0)


def strip_ipv4(packet: bytes) -> bytes:
    """The packet after its IPv4 header, which raw sockets of IPv4 leave on; empty if damaged."""
    if len(packet) < 20 or packet[0] >> 4 != 4:
        return b""
    return packet[(packet[0] & 0xF) * 4 :]


def read_quote(family: int, message: bytes) -> Quote | None:
    """The quoted packet of an ICMP error."""
    if len(message) < 8 or message[0] not in (UNREACHABLE[family], TIME_EXCEEDED[family]):
        return None
    inner = message[8:]
    head = (inner[0] & 0xF) * 4 if family == 4 and inner else 40
    if len(inner) < head + 8 or head < 20 or inner[0] >> 4 != family:
        return None
    protocol, destination = (inner[9], inner[16:20]) if family == 4 else (inner[6], inner[24:40])
    return Quote(message[0], message[1], protocol, destination, inner[head:])


def read_echo(family: int, message: bytes) -> tuple[int, int] | None:
    """Identifier and sequence number of an echo reply."""
    if len(message) < 8 or message[0] != ECHO_REPLY[family]:
        return None
    _, _, _, identifier, sequence = _ECHO.unpack_from(message)
    return identifier, sequence


def read_segment(data: bytes) -> Segment | None:
    """The head of a TCP segment."""
    if len(data) < 20:
        return None
    source, port, _, acknowledged, _, flags, _, _, _ = _TCP.unpack_from(data)
    return Segment(source, port, acknowledged, flags)
