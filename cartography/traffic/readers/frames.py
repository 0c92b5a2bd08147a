"""Decode captured frames to IP packets: both ends, ports, length on the wire, payload.

A frame that cannot be decoded has a reason. Tunnels are not decoded: their outer ends exchange the
packets.
"""

import struct
from typing import NamedTuple

from cartography.traffic.readers.pcap import Packet

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
_ETHERNET, _NULL, _RAW_OLD, _RAW, _COOKED, _COOKED2 = 1, 0, (12, 14), 101, 113, 276
_LOOP, _IPV4_ONLY, _IPV6_ONLY = 108, 228, 229
_TAGS = (0x8100, 0x88A8, 0x9100)
_PPPOE = 0x8864
_EXTENSIONS = (0, 43, 60)
_FRAGMENT = 44
NOT_IP = "not IP"
BROKEN = "broken or cut within its headers"
FRAGMENT = "a later fragment"


class Segment(NamedTuple):
    """One IP packet; ports are 0 where the transport has none."""

    source: bytes
    target: bytes
    protocol: int
    source_port: int
    target_port: int
    # Header and payload of IP, by the header.
    ip_bytes: int
    # Payload of the transport, by the headers, and as far as it was captured.
    payload_bytes: int
    payload: bytes
    flags: int = 0
    sequence: int = 0


def read_segment(packet: Packet) -> Segment | str:
    """The IP packet of a frame, or why there is none."""
    try:
        data = _strip_link(packet.link, packet.data)
        if isinstance(data, str):
            return data
        version = data[0] >> 4
        if version == 4:
            return _read_ipv4(data)
        return _read_ipv6(data) if version == 6 else NOT_IP
    except (struct.error, IndexError):
        return BROKEN


def _strip_link(link: int, data: bytes) -> bytes | str:
    if link == _ETHERNET:
        return _strip_ethernet(data, 12)
    if link in (_RAW, _IPV4_ONLY, _IPV6_ONLY, *_RAW_OLD):
        return data
    if link in (_NULL, _LOOP):
        return data[4:]
    if link == _COOKED:
        return _strip_ethernet(data, 14)
    if link == _COOKED2:
        return data[20:] if data[:2] in (b"\x08\x00", b"\x86\xdd") else NOT_IP
    return f"link type {link}, which is not read"


def _strip_ethernet(data: bytes, at: int) -> bytes | str:
    (kind,) = struct.unpack_from("!H", data, at)
    while kind in _TAGS:
        at += 4
        (kind,) = struct.unpack_from("!H", data, at)
    if kind == _PPPOE:
        return data[at + 10 :]
    return data[at + 2 :] if kind in (0x0800, 0x86DD) else NOT_IP


def _read_ipv4(data: bytes) -> Segment | str:
    size, place = struct.unpack_from("!H2xH", data, 2)
    head = (data[0] & 15) * 4
    if head < 20 or (size and size < head):
        return BROKEN
    if place & 0x1FFF:
        return FRAGMENT
    # Cards that cut large sends into packets themselves leave the length at 0.
    size = size or len(data)
    return _read_transport(data[12:16], data[16:20], data[9], size, data[head:size], size - head)


def _read_ipv6(data: bytes) -> Segment | str:
    size, following = struct.unpack_from("!HB", data, 4)
    at = 40
    while following in (*_EXTENSIONS, _FRAGMENT):
        if following == _FRAGMENT and struct.unpack_from("!H", data, at + 2)[0] & 0xFFF8:
            return FRAGMENT
        length = 8 if following == _FRAGMENT else 8 + data[at + 1] * 8
        following, at = data[at], at + length
    whole = size + 40 if size else len(data)
    ends = data[8:24], data[24:40]
    return _read_transport(*ends, following, whole, data[at:whole], whole - at)


def _read_transport(
    source: bytes, target: bytes, protocol: int, size: int, body: bytes, rest: int
) -> Segment:
    if protocol == TCP:
        ports = struct.unpack_from("!HHI4xBB", body)
        head = (ports[3] >> 4) * 4
        return Segment(
            *(source, target, TCP, ports[0], ports[1], size, max(rest - head, 0)),
            *(body[head:], ports[4], ports[2]),
        )
    if protocol == UDP:
        source_port, target_port = struct.unpack_from("!HH", body)
        return Segment(
            source, target, UDP, source_port, target_port, size, max(rest - 8, 0), body[8:]
        )
    return Segment(source, target, protocol, 0, 0, size, rest, b"")
