"""Parse the NSEC records of a reply: links of the zone's chain, and what ends a walk."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from crawlers.dns.message import Malformed
from crawlers.dns.name_codec import Names
from crawlers.dns.rdata import WRITERS

_HEADER = struct.Struct("!6H")
_FIXED = struct.Struct("!HHIH")
_NS, _NSEC, _NSEC3 = 2, 47, 50
# Canonical order is that of lower-case letters (RFC 4034 section 6.1).
_UPPER = range(65, 91)
_MAX_LABEL, _MAX_NAME = 63, 255
_FAULTS = (IndexError, OSError, ValueError, struct.error)

Labels = tuple[bytes, ...]


class Link(NamedTuple):
    """One NSEC record: a name of the zone, the next one, and the types at the first."""

    owner: str
    next: str
    types: frozenset[str]


class Denial(NamedTuple):
    """A reply: its code, its links, owners of name servers, and whether it has NSEC3."""

    rcode: int
    links: tuple[Link, ...]
    cuts: frozenset[str]
    hashed: bool


def read_denial(packet: bytes, offset: int) -> Denial:
    """Answer and authority of a reply with a question that ends there; raises ``Malformed``."""
    _, flags, _, n_answers, n_authorities, _ = _HEADER.unpack_from(packet)
    links, cuts, hashed = [], set(), False
    try:
        for owner, code, names, span in _records(packet, offset, n_answers + n_authorities):
            if code == _NSEC:
                links.append(_read_link(owner, WRITERS[_NSEC][1](names, *span)))
            elif code == _NS:
                cuts.add(owner)
            hashed |= code == _NSEC3
    except _FAULTS as error:
        raise Malformed(str(error)) from error
    return Denial(flags & 15, tuple(links), frozenset(cuts), hashed)


def _read_link(owner: str, text: str) -> Link:
    target, *types = text.split(" ")
    if target == "\\#":
        raise ValueError("NSEC data in no form that it can have")
    return Link(owner, "" if target == "." else target, frozenset(types))


def _records(
    packet: bytes, offset: int, count: int
) -> Iterator[tuple[str, int, Names, tuple[int, int]]]:
    names, size = Names(packet), len(packet)
    for _ in range(count):
        owner, offset = names.read(offset, size)
        code, rrclass, _, octets = _FIXED.unpack_from(packet, offset)
        offset += 10
        end = offset + octets
        if end > size:
            raise ValueError("record data runs past the packet")
        if rrclass == 1:
            yield owner, code, names, (offset, end)
        offset = end


def labels_of(name: str) -> Labels:
    """The labels of a name as bytes, the last one first: they sort in canonical order."""
    return tuple(_label_octets(label) for label in reversed(name.split("."))) if name else ()


def _label_octets(label: str) -> bytes:
    first, *rest = label.split("\\")
    octets = first.encode("ascii")
    for piece in rest:
        octets += bytes((int(piece[:3]),)) + piece[3:].encode("ascii")
    return octets


def encode_labels(labels: Labels) -> bytes:
    """Wire form of a name."""
    return b"".join(bytes((len(label),)) + label for label in reversed(labels)) + b"\0"


def successor(labels: Labels) -> Labels | None:
    """The first possible name behind one and all below it; ``None`` where there is none."""
    *above, label = labels
    if len(label) < _MAX_LABEL and len(encode_labels(labels)) < _MAX_NAME:
        return (*above, label + b"\0")
    # Nothing can be appended, so the last byte that can grow does.
    while label:
        last = label[-1] + 1
        if last < 256:
            return (*above, label[:-1] + bytes((91 if last in _UPPER else last,)))
        label = label[:-1]
    return None


def is_minimal(link: Link) -> bool:
    """Whether a record denies next to nothing: it was made for this question (RFC 4470, 7129)."""
    # Such a record ends at the first name that could follow: a label \000 below, or appended.
    return link.next.startswith("\\000.") or link.next.partition(".")[0].endswith("\\000")
