"""Addresses and prefixes as packed bytes: strict, fast, and one reading for every spelling.

Packed bytes of one family sort as their numbers do. IPv4-mapped IPv6 is read as IPv4; tunnels
that carry an IPv4 address (6to4, NAT64) stay IPv6, since the packet goes to the tunnel first.
"""

import ipaddress
import socket

BITS = {4: 32, 6: 128}
_MAPPED = bytes(10) + b"\xff\xff"
# Up to here the C library writes the last 32 bits of an IPv6 address as a dotted quad.
_DOTTED_BELOW = 1 << 48


def pack_address(text: str) -> bytes:
    """Four or sixteen bytes; text that is not an address gives none."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        packed = socket.inet_pton(family, text)
    except (OSError, ValueError):
        return b""
    return packed[12:] if packed.startswith(_MAPPED) else packed


def read_prefix(text: str) -> tuple[int, int, int]:
    """(family, first address, length) of a prefix; raises ``ValueError`` with the reason.

    An address alone is a prefix of full length; bits behind the prefix must be zero.
    """
    address, slash, digits = text.partition("/")
    family = 6 if ":" in address else 4
    bits = BITS[family]
    try:
        packed = socket.inet_pton(socket.AF_INET6 if family == 6 else socket.AF_INET, address)
    except (OSError, ValueError) as error:
        raise ValueError(f"{address!r} is not an IP address") from error
    length = int(digits) if digits.isascii() and digits.isdigit() else bits + 1
    length = length if slash else bits
    if length > bits:
        raise ValueError(f"{digits!r} is not a length of 0 to {bits}")
    first = int.from_bytes(packed)
    if first & ((1 << (bits - length)) - 1):
        raise ValueError(f"it has host bits set behind /{length}")
    return family, first, length


def write_address(family: int, number: int) -> str:
    """The canonical text of an address."""
    if family == 4:
        return socket.inet_ntoa(number.to_bytes(4))
    if number < _DOTTED_BELOW:
        return str(ipaddress.IPv6Address(number))
    return socket.inet_ntop(socket.AF_INET6, number.to_bytes(16))


def write_prefix(family: int, first: int, length: int) -> str:
    """The canonical text of a prefix."""
    return f"{write_address(family, first)}/{length}"
