"""Names and questions in wire form, codes of record types, and the error of a malformed reply."""

import re
import struct

from core.errors import BadInput, NephoscopeError

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
# RFC 1035 section 5.1: three digits are a byte, any other character represents itself.
_ESCAPE = re.compile(rb"\\(?:(\d\d\d)|(\D)|\d{0,2}$|)")


class Malformed(NephoscopeError):
    """A reply that is no well-formed DNS message."""


def encode_name(name: str) -> bytes:
    """Wire form of a name, odd bytes as ``\\DDD``; raises ``BadInput`` if DNS cannot carry it."""
    wire = b""
    try:
        for label in name.encode("ascii").split(b".") if name else ():
            if b"\\" in label:
                label = _ESCAPE.sub(_unescape, label)
            if not 0 < len(label) < 64:
                raise BadInput(f"{name[:80]!r} has a label that is empty or over 63 bytes")
            wire += bytes((len(label),)) + label
    except UnicodeEncodeError as error:
        raise BadInput(f"{name[:80]!r} is not ASCII") from error
    if len(wire) > 254:
        raise BadInput(f"{name[:80]!r}… is longer than 253 characters")
    return wire + b"\0"


def _unescape(found: re.Match[bytes]) -> bytes:
    number, other = found.groups()
    if other or (number and int(number) < 256):
        return bytes((int(number),)) if number else bytes(other)
    raise BadInput("a backslash in a name stands before a number up to 255, or before no digit")


def encode_question(name: str, rrtype: str) -> bytes:
    """The question section."""
    return encode_name(name) + struct.pack("!HH", TYPE_CODES[rrtype], 1)
