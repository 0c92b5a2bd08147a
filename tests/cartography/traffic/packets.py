"""Packets and captures made by hand."""

import socket
import struct

SYN, ACK, FIN, PSH = 2, 16, 1, 8


def ipv4(source, target, protocol, body, size=None):
    whole = 20 + len(body) if size is None else size
    head = struct.pack("!BBHHHBBH", 0x45, 0, whole, 1, 0, 64, protocol, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(target) + body


def ipv6(source, target, protocol, body):
    head = struct.pack("!IHBB", 0x60000000, len(body), protocol, 64)
    ends = (socket.inet_pton(socket.AF_INET6, end) for end in (source, target))
    return head + b"".join(ends) + body


def tcp(source_port, target_port, payload=b"", flags=ACK, sequence=1):
    ports = struct.pack("!HHIIBBHHH", source_port, target_port, sequence, 0, 0x50, flags, 0, 0, 0)
    return ports + payload


def udp(source_port, target_port, payload=b""):
    return struct.pack("!HHHH", source_port, target_port, 8 + len(payload), 0) + payload


def ethernet(packet, *tags):
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    vlans = b"".join(struct.pack("!HH", 0x8100, tag) for tag in tags)
    return bytes(12) + vlans + struct.pack("!H", kind) + packet


def pcap(frames, link=1, order="<", nanoseconds=False):
    """Frames, or (seconds, frame)."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for i, given in enumerate(frames):
        at_s, frame = given if isinstance(given, tuple) else (1719792000 + i, given)
        out += struct.pack(order + "IIII", at_s, 500, len(frame), len(frame)) + frame
    return out


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(frames, order="<", resolution=None):
    option = b"" if resolution is None else struct.pack(order + "HHB3x", 9, 1, resolution)
    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    out += block(1, struct.pack(order + "HHI", 1, 0, 65535) + option, order)
    out += block(5, bytes(12), order)
    ticks = 10 ** (6 if resolution is None else resolution)
    for i, frame in enumerate(frames):
        at = (1719792000 + i) * ticks
        head = struct.pack(order + "IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(frame), len(frame))
        out += block(6, head + frame, order)
    return out


def hello(name, padding=0):
    """A TLS hello of a client, in one record."""
    host = name.encode()
    server = struct.pack("!HBH", len(host) + 3, 0, len(host)) + host
    extensions = struct.pack("!HH", 21, padding) + bytes(padding)
    extensions += struct.pack("!HH", 0, len(server)) + server
    body = b"\x03\x03" + bytes(32) + b"\x00" + struct.pack("!H", 2) + b"\x13\x01" + b"\x01\x00"
    body += struct.pack("!H", len(extensions)) + extensions
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + struct.pack("!H", len(message)) + message
