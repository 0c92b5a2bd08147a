"""Answers on the wire: encoding only, for records that a world can have."""

import socket
import struct

from testbed.zonedata import Outcome

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "TXT": 16, "AAAA": 28, "AXFR": 252}
TYPE_NAMES = {code: name for name, code in TYPES.items()}
TTL = 300
OPT = b"\0\0\x29" + struct.pack("!HIH", 1232, 0, 0)
PLAIN_LIMIT = 512


def encode_name(name: str) -> bytes:
    """A name without compression."""
    return b"".join(bytes((len(p),)) + p for p in name.encode().split(b".")) + b"\0"


def encode_record(owner: str, rrtype: str, data: str, known: dict[str, int], at: int) -> bytes:
    """One record; ``known`` maps names to offsets and learns those written here."""
    head = _compressed(owner, known, at)
    body = encode_data(rrtype, data)
    offset = at + len(head) + 10
    if rrtype in ("CNAME", "NS"):
        body = _compressed(data, known, offset)
    return head + struct.pack("!HHIH", TYPES[rrtype], 1, TTL, len(body)) + body


def _compressed(name: str, known: dict[str, int], at: int) -> bytes:
    offset = known.get(name)
    if offset is not None:
        return struct.pack("!H", 0xC000 | offset)
    if at < 0x3FFF:
        known[name] = at
    return encode_name(name)


def encode_data(rrtype: str, data: str) -> bytes:
    """Record data without compression."""
    if rrtype == "A":
        return socket.inet_aton(data)
    if rrtype == "TXT":
        return bytes((len(data),)) + data.encode()
    if rrtype == "SOA":
        numbers = struct.pack("!IIIII", 1, 7200, 900, 1209600, 300)
        return encode_name(f"ns.{data}") + encode_name(f"hostmaster.{data}") + numbers
    return encode_name(data)


def encode_body(outcome: Outcome, qname: str, question_length: int) -> tuple[int, bytes]:
    """(record counts packed as answers << 16 | authorities, the two sections)."""
    known = {qname: 12}
    at = 12 + question_length
    parts: list[bytes] = []
    for owner, rrtype, data in outcome.records:
        part = encode_record(owner, rrtype, data, known, at)
        parts.append(part)
        at += len(part)
    n_authorities = 0
    last = outcome.records[-1][1] if outcome.records else ""
    if last in ("", "CNAME"):
        parts.append(encode_record(outcome.apex, "SOA", outcome.apex, known, at))
        n_authorities = 1
    return len(outcome.records) << 16 | n_authorities, b"".join(parts)


def read_question(packet: bytes) -> tuple[str, int, int]:
    """(name in lower case, type code, end of the question); raises ``ValueError``."""
    if len(packet) < 17 or packet[2] & 0x80 or packet[4:6] != b"\0\1":
        raise ValueError("not a query with one question")
    labels, offset = [], 12
    while True:
        length = packet[offset]
        if length == 0:
            break
        if length > 63 or offset + length + 5 > len(packet):
            raise ValueError("bad label")
        labels.append(packet[offset + 1 : offset + 1 + length].decode("ascii").lower())
        offset += length + 1
    if offset + 5 > len(packet):
        raise ValueError("question cut off")
    return ".".join(labels), packet[offset + 1] << 8 | packet[offset + 2], offset + 5
