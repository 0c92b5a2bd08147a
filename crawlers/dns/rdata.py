"""Decode record data from wire form to presentation text, one function per type.

Names are in lower case without the final dot; everything else is written as dnspython does. A
wrong length raises ``ValueError``. Data that breaks a rule of its type, and data of unknown types,
are written in the generic form of RFC 3597, since the zone publishes them.
"""

import importlib
import socket
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from crawlers.dns.message import TYPE_NAMES
from crawlers.dns.name_codec import Names, quote
from crawlers.dns.svcb import InvalidRecordData, service_text

Writer = Callable[[Names, int, int], str]

# Types formatted by dnspython. The list is closed because it looks on the disk for a module
# each time that it meets a type for the first time, and a hostile server has 65,536 of them.
RARE_TYPES = {
    11: "WKS",
    13: "HINFO",
    17: "RP",
    18: "AFSDB",
    19: "X25",
    20: "ISDN",
    21: "RT",
    22: "NSAP",
    23: "NSAP-PTR",
    24: "SIG",
    25: "KEY",
    26: "PX",
    27: "GPOS",
    29: "LOC",
    35: "NAPTR",
    36: "KX",
    37: "CERT",
    42: "APL",
    43: "DS",
    44: "SSHFP",
    45: "IPSECKEY",
    46: "RRSIG",
    48: "DNSKEY",
    49: "DHCID",
    50: "NSEC3",
    51: "NSEC3PARAM",
    52: "TLSA",
    53: "SMIMEA",
    55: "HIP",
    56: "NINFO",
    59: "CDS",
    60: "CDNSKEY",
    61: "OPENPGPKEY",
    62: "CSYNC",
    63: "ZONEMD",
    66: "DSYNC",
    67: "HHIT",
    68: "BRID",
    99: "SPF",
    104: "NID",
    105: "L32",
    106: "L64",
    107: "LP",
    108: "EUI48",
    109: "EUI64",
    256: "URI",
    258: "AVC",
    260: "AMTRELAY",
    261: "RESINFO",
    262: "WALLET",
    32769: "DLV",
}
# Types that occur in NSEC bit maps and have no decoder here.
_OTHER_NAMES = {128: "NXNAME", 249: "TKEY", 250: "TSIG", 251: "IXFR", 255: "ANY"}
# In place of a header, so that a name that leads there is none: the id is new in each reply.
_NO_HEADER = b"\xff" * 12
_FIVE_NUMBERS = struct.Struct("!IIIII")
_THREE_NUMBERS = struct.Struct("!HHH")


def name_type(code: int) -> str:
    """The name of a type, or ``TYPE123``."""
    return TYPE_NAMES.get(code) or RARE_TYPES.get(code) or _OTHER_NAMES.get(code) or f"TYPE{code}"


def find_writer(code: int) -> tuple[str, Writer]:
    """Name and writer of a type."""
    found = WRITERS.get(code)
    if found is not None:
        return found
    if code in RARE_TYPES:
        return RARE_TYPES[code], _rare_writer(code)
    return name_type(code), generic_text


def generic_text(names: Names, offset: int, end: int) -> str:
    """RFC 3597: the form of any data whatsoever."""
    return f"\\# {end - offset} {names.packet[offset:end].hex()}".rstrip()


def _address(names: Names, offset: int, end: int) -> str:
    return socket.inet_ntoa(names.packet[offset:end])


def _long_address(names: Names, offset: int, end: int) -> str:
    return socket.inet_ntop(socket.AF_INET6, names.packet[offset:end])


def _name(names: Names, offset: int, end: int) -> str:
    name, after = names.read(offset, end)
    if after != end:
        raise ValueError("name does not fill its record")
    return name


def _whole_name(names: Names, offset: int, end: int) -> str:
    name, after = names.read_whole(offset, end)
    if after != end:
        raise ValueError("name does not fill its record")
    return name


def _start_of_authority(names: Names, offset: int, end: int) -> str:
    primary, offset = names.read(offset, end)
    mailbox, offset = names.read(offset, end)
    if end - offset != 20:
        raise ValueError("SOA numbers are not 20 bytes")
    numbers = _FIVE_NUMBERS.unpack_from(names.packet, offset)
    return " ".join([primary or ".", mailbox or ".", *map(str, numbers)])


def _exchange(names: Names, offset: int, end: int) -> str:
    packet = names.packet
    return f"{packet[offset] << 8 | packet[offset + 1]} {_name(names, offset + 2, end) or '.'}"


def _service_location(names: Names, offset: int, end: int) -> str:
    priority, weight, port = _THREE_NUMBERS.unpack_from(names.packet, offset)
    return f"{priority} {weight} {port} {_name(names, offset + 6, end) or '.'}"


def _texts(names: Names, offset: int, end: int) -> str:
    packet, strings = names.packet, []
    while offset < end:
        after = offset + 1 + packet[offset]
        if after > end:
            raise ValueError("text runs past its record")
        strings.append(f'"{quote(packet[offset + 1 : after])}"')
        offset = after
    if not strings:
        raise InvalidRecordData("TXT without a string")
    return " ".join(strings)


def _authorization(names: Names, offset: int, end: int) -> str:
    packet = names.packet
    value = offset + 2 + packet[offset + 1]
    if value > end:
        raise ValueError("CAA tag runs past its record")
    tag = packet[offset + 2 : value]
    if not tag.isalnum():
        raise InvalidRecordData("CAA tag is empty or no word")
    return f'{packet[offset]} {tag.decode()} "{quote(packet[value:end])}"'


def _next_secure(names: Names, offset: int, end: int) -> str:
    name, offset = names.read_whole(offset, end)
    packet, kinds, window = names.packet, [name or "."], -1
    while offset < end:
        after = offset + 2 + packet[offset + 1]
        if after > end:
            raise ValueError("NSEC bit map runs past its record")
        bits = packet[offset + 2 : after]
        if packet[offset] <= window or not 0 < len(bits) < 33 or not bits[-1]:
            raise InvalidRecordData("NSEC windows out of order, or of no use")
        window, offset = packet[offset], after
        kinds += [name_type(window << 8 | bit) for bit in _set_bits(bits)]
    return " ".join(kinds)


def _set_bits(bits: bytes) -> list[int]:
    return [bit for bit in range(len(bits) * 8) if bits[bit >> 3] & 0x80 >> (bit & 7)]


def _service(names: Names, offset: int, end: int) -> str:
    if end - offset < 3:
        raise ValueError("service binding too short")
    target, after = names.read_whole(offset + 2, end)
    priority = names.packet[offset] << 8 | names.packet[offset + 1]
    return service_text(priority, target or ".", names.packet[after:end])


def _lenient(write: Writer) -> Writer:
    """The writer, with the form of RFC 3597 for what breaks a rule of its type."""

    def write_or_dump(names: Names, offset: int, end: int) -> str:
        try:
            return write(names, offset, end)
        except InvalidRecordData:
            return generic_text(names, offset, end)

    return write_or_dump


@cache
def _rare_writer(code: int) -> Writer:
    # Loading dnspython takes longer than many a command runs, and few ever meet these types.
    rdata: Any = importlib.import_module("dns.rdata")
    refusals = (importlib.import_module("dns.exception").DNSException, ValueError)
    style = rdata.RdataStyle(omit_final_dot=True)

    def write(names: Names, offset: int, end: int) -> str:
        # Pointers are followed out of sight here, so the text may depend on the whole packet.
        names.low, names.high = 0, names.floor
        packet = _NO_HEADER + names.packet[12:]
        try:
            found = rdata.from_wire(1, code, packet, offset, end - offset)
            return str(_lower_names(found).to_text(style=style))
        except refusals:
            return generic_text(names, offset, end)

    return write


def _lower_names(found: Any) -> Any:
    slots = [slot for kind in type(found).__mro__ for slot in getattr(kind, "__slots__", ())]
    values = {slot: getattr(found, slot) for slot in slots}
    names = {slot: v.canonicalize() for slot, v in values.items() if hasattr(v, "canonicalize")}
    return found.replace(**names) if names else found


WRITERS: dict[int, tuple[str, Writer]] = {
    1: ("A", _address),
    2: ("NS", _name),
    5: ("CNAME", _name),
    6: ("SOA", _start_of_authority),
    12: ("PTR", _name),
    15: ("MX", _exchange),
    16: ("TXT", _lenient(_texts)),
    28: ("AAAA", _long_address),
    33: ("SRV", _service_location),
    39: ("DNAME", _whole_name),
    47: ("NSEC", _lenient(_next_secure)),
    64: ("SVCB", _lenient(_service)),
    65: ("HTTPS", _lenient(_service)),
    257: ("CAA", _lenient(_authorization)),
}
