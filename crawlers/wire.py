"""Names and questions in wire form, the codes of types, and what a bad reply is."""

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


class Malformed(NephoscopeError):
    """A reply that is no well-formed DNS message."""


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
