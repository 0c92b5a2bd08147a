"""Replies of every kind from a seed: well-formed ones that share zones, and what spoils them.

A plan lists the records of a reply and how its names are compressed; written with several first
labels it gives a family of replies with equal endings at different offsets. ``spoil`` changes
the structure of a reply, and leaves the question alone unless asked otherwise.
"""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import dns.name
import dns.rdata

Labels = tuple[bytes, ...]
_T = TypeVar("_T")
# Record data is bytes and names in turn.
Data = tuple["bytes | Labels", ...]
_OPT, _ROOT = 41, ()
_HEADER = struct.Struct("!HHHHHH")
_MOST_PLACES = 8

# Data without names in it, as zones publish it.
_TEXTS = (
    ("A", "192.0.2.7"),
    ("AAAA", "2001:db8::7"),
    ("AAAA", "::ffff:192.0.2.1"),
    ("AAAA", "::"),
    ("TXT", '"v=spf1 -all"'),
    ("TXT", r'"a\"b\\c\001\200;" "" "two"'),
    ("TXT", '"' + "x" * 255 + '"'),
    ("CAA", '0 issue "ca.test"'),
    ("CAA", '128 iodef "mailto:a@b.test"'),
    ("CAA", '0 issue ""'),
    ("HTTPS", "1 . alpn=h2,h3 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1 port=8443"),
    ("HTTPS", "0 cdn.test."),
    ("SVCB", "16 s.test. mandatory=alpn alpn=dot dohpath=/q{?dns}"),
    ("SVCB", r'1 . alpn="a\\,b,c" no-default-alpn key65333=\001\255x'),
    ("DS", "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"),
    ("DNSKEY", "256 3 13 aGVsbG8gd29ybGQsIHRoaXMgaXMgYSBrZXk="),
    ("RRSIG", "A 13 2 300 20300101000000 20290101000000 4711 alder.test. c2lnbmF0dXJl"),
    ("NSEC", r"b.alder.test. A NS SOA MX TXT AAAA RRSIG NSEC CAA TYPE1234"),
    ("NSEC", r". A"),
    ("NSEC3", "1 1 12 aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG"),
    ("NSEC3PARAM", "1 0 0 -"),
    ("CDS", "0 0 0 00"),
    ("TLSA", "3 1 1 " + "ab" * 32),
    ("SSHFP", "1 1 " + "cd" * 20),
    ("LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m"),
    ("HINFO", '"PC" "Linux"'),
    ("URI", '10 1 "https://a.test/"'),
    ("APL", "1:192.0.2.0/24"),
    ("CERT", "PGP 0 0 aGVsbG8="),
    ("OPENPGPKEY", "aGVsbG8="),
    ("EUI48", "00-11-22-33-44-55"),
    ("IPSECKEY", "10 1 2 192.0.2.38 aGVsbG8="),
    ("DHCID", "aGVsbG8="),
    ("CSYNC", "66 3 A NS"),
    ("ZONEMD", "2018031900 1 1 " + "ab" * 48),
    ("AMTRELAY", "10 0 1 192.0.2.1"),
    ("L32", "10 10.1.2.0"),
    ("NID", "10 0014:4fff:ff20:ee64"),
    ("NSAP", "0x47000580"),
    ("TYPE65280", r"\# 3 abcdef"),
    ("TYPE4711", r"\# 0"),
)
# Data that holds names, which servers may compress: number of bytes before, names, bytes after.
_NAMED = (
    (2, 0, 1, b""),
    (5, 0, 1, b""),
    (12, 0, 1, b""),
    (39, 0, 1, b""),
    (6, 0, 2, bytes(range(20))),
    (15, 2, 1, b""),
    (33, 6, 1, b""),
    (18, 2, 1, b""),
    (17, 0, 2, b""),
    (18, 2, 1, b""),
    (47, 0, 1, b"\0\6\x40\1\0\0\0\3"),
    (64, 2, 1, b"\0\3\0\2\1\xbb"),
    (65, 2, 1, b""),
    (46, 18, 1, b"signature"),
    (107, 2, 1, b""),
    (26, 2, 2, b""),
    (36, 2, 1, b""),
    (21, 2, 1, b""),
)
_OPTIONS = (
    b"",
    b"\0\x0a\0\x08cookie!!",
    b"\0\3\0\4nsid",
    b"\0\x0c\0\6\0\0\0\0\0\0",
    b"\0\x0f\0\2\0\x12",
    b"\0\x08\0\7\0\1\x18\x14\xcb\0\x71",
    b"\0\x08\0\x0a\0\2\x30\x20\x20\1\x0d\xb8\0\1",
    b"\0\x08\0\4\0\1\0\0",
    b"\0\x0b\0\2\0\x64",
    b"\xfd\xe9\0\1x",
    b"\0\x08\0\4\0\0\0\0",
)
_TYPES = (
    *(0, 1, 2, 5, 6, 10, 12, 13, 15, 16, 17, 24, 28, 29, 33, 35, 37, 39, 41, 42, 43, 45, 46, 47),
    *(48, 50, 52, 55, 60, 64, 65, 99, 249, 250, 251, 252, 255, 256, 257, 260, 4711, 65280, 65535),
)


class Plan(NamedTuple):
    """The records of one reply: (owner, type, class, time to live, data) by section."""

    asked: Labels
    type: int
    flags: int
    sections: tuple[tuple["Row", ...], ...]
    seed: int


class Row(NamedTuple):
    """One record before it is written."""

    owner: Labels
    type: int
    data: Data
    rrclass: int = 1
    ttl: int = 300


class Packet(NamedTuple):
    """A reply, where its question ends, and where its structure is, by kind of place."""

    data: bytes
    question_end: int
    places: dict[str, list[int]]


class _Writer:
    """Writes names; which earlier occurrence a pointer leads to is a matter of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.out = bytearray(12)
        self.known: dict[Labels, list[int]] = {}
        self.places: dict[str, list[int]] = {}

    def mark(self, kind: str) -> None:
        self.places.setdefault(kind, []).append(len(self.out))

    def name(self, labels: Labels, *, plain: bool = False) -> None:
        mood = self.chance.random()
        least = 0 if mood < 0.7 else self.chance.randint(0, len(labels))
        allowed = not plain and mood < 0.93
        for i in range(len(labels)):
            suffix = labels[i:]
            found = self.known.get(suffix)
            pick = self.chance.random()
            at = len(self.out)
            if at < 0x4000 and len(self.known.setdefault(suffix, [])) < _MOST_PLACES:
                self.known[suffix].append(at)
            if found and allowed and i >= least and found[0] < at:
                older = [place for place in found if place < at]
                self.mark("pointer")
                self.out += (0xC000 | older[int(pick * len(older))]).to_bytes(2, "big")
                return
            self.mark("label")
            self.out += bytes((len(labels[i]),)) + labels[i]
        self.mark("root")
        self.out.append(0)

    def row(self, row: Row) -> None:
        self.mark("record")
        self.name(row.owner)
        self.mark("fixed")
        self.out += struct.pack("!HHIH", row.type, row.rrclass, row.ttl, 0)
        start = len(self.out)
        for part in row.data:
            if isinstance(part, bytes):
                self.out += part
            else:
                self.name(part)
        self.out[start - 2 : start] = (len(self.out) - start).to_bytes(2, "big")


def write(plan: Plan, first: bytes | None = None) -> Packet:
    """The reply in wire form; ``first`` takes the place of the question's first label."""
    writer = _Writer(random.Random(plan.seed))
    asked = plan.asked if first is None else (first, *plan.asked[1:])
    writer.name(asked, plain=True)
    writer.out += struct.pack("!HH", plan.type, 1)
    question_end = len(writer.out)
    for section in plan.sections:
        for row in section:
            renamed = row.owner == plan.asked and first is not None
            writer.row(row._replace(owner=asked) if renamed else row)
    counts = [len(section) for section in plan.sections]
    _HEADER.pack_into(writer.out, 0, 4711, plan.flags, 1, *counts)
    return Packet(bytes(writer.out), question_end, writer.places)


@cache
def _fixed_data() -> tuple[tuple[int, bytes], ...]:
    found = (dns.rdata.from_text("IN", kind, text) for kind, text in _TEXTS)
    return tuple((int(data.rdtype), data.to_wire()) for data in found)


class Planner:
    """Plans of replies; a few zones and operators come again and again."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        pool = [self._zone() for _ in range(12)]
        self.zones = [
            *pool,
            (b"alder", b"test"),
            (b"test",),
            (b"\x0c" * 12, b"x"),
            _longest(chance),
        ]
        self.hosts = [(self._label(), *self._any(pool)) for _ in range(12)]

    def _any(self, items: Sequence[_T]) -> _T:
        return items[int(self.chance.random() * len(items))]

    def _label(self) -> bytes:
        chance = self.chance
        letters = b"abcdefghijklmnopqrstuvwxyz0123456789-_"
        return bytes(
            chance.choices(letters, k=chance.choice((1, 1, 2, 3, 3, 5, 8, 20, 44, 46, 63)))
        )

    def _zone(self) -> Labels:
        return tuple(self._label()[:20] for _ in range(self.chance.choice((1, 2, 2, 3))))

    def _name(self) -> Labels:
        mood = self.chance.random()
        if mood < 0.4:
            return self._any(self.hosts)
        if mood < 0.47:
            return _ROOT
        odd = self._label().upper() if mood < 0.55 else self._label()
        odd = bytes(self.chance.choices(range(256), k=3)) if mood > 0.93 else odd
        return _fitting((odd, *self._any(self.zones)))

    def _row(self, owner: Labels, kind: int | None = None) -> Row:
        chance = self.chance
        if kind is None and chance.random() < 0.6:
            code, data = self._any(_fixed_data())
            return Row(owner, code, (data,), ttl=chance.choice((0, 60, 300, 86_400, 0x80000001)))
        code, before, names, after = self._any([n for n in _NAMED if kind in (None, n[0])])
        parts = [chance.randbytes(before), *(self._name() for _ in range(names)), after]
        return Row(owner, code, tuple(parts))

    def plan(self) -> Plan:
        """Some reply."""
        chance, zone = self.chance, self._any(self.zones)
        asked = _fitting((self._label(), *zone)) if chance.random() < 0.95 else zone
        answers, owner = list[Row](), asked
        for _ in range(
            chance.choice(
                (0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 17) if chance.random() < 0.5 else (0, 1)
            )
        ):
            alias = self._row(owner, 5)
            answers.append(alias)
            owner = alias.data[1] if chance.random() < 0.95 else self._name()  # type: ignore[assignment]
        kinds = chance.choice((1, 1, 1, 1, None, None, 28, 0))
        for _ in range(chance.choice((1, 1, 1, 2, 4)) if kinds != 0 else 0):
            address = Row(owner, 1, (chance.randbytes(4),), chance.choice((1,) * 19 + (3,)))
            answers.append(address if kinds == 1 else self._row(owner))
        authorities = [
            self._row(zone, self._any((2, 2, 2, 6, None))) for _ in range(chance.randint(0, 4))
        ]
        rows = [self._glue(row) for row in authorities if row.type == 2 and chance.random() < 0.7]
        if chance.random() < 0.75:
            ttl = chance.choice((0, 0, 0, 0x8000, 0x01000000))
            options = b"".join(chance.choices(_OPTIONS, k=chance.choice((0, 1, 1, 2))))
            rows.insert(chance.randint(0, len(rows)), Row(_ROOT, _OPT, (options,), 1232, ttl))
        flags = chance.choice((0x8180, 0x8400, 0x8500, 0x8580, 0x81A0))
        flags |= 3 if not answers and chance.random() < 0.5 else 0
        sections = (tuple(answers), tuple(authorities), tuple(rows))
        code = 1 if chance.random() < 0.7 else chance.choice((28, 16, 15, 65, 2, 257))
        return Plan(asked, code, flags, sections, chance.getrandbits(32))

    def _glue(self, row: Row) -> Row:
        owner = row.data[1] if isinstance(row.data[1], tuple) else _ROOT
        size = self.chance.choice((4, 4, 16))
        return Row(owner, 1 if size == 4 else 28, (self.chance.randbytes(size),))

    def family(self, size: int) -> Iterator[Packet]:
        """Replies of one plan about different names, some of the same length."""
        plan = self.plan()
        for _ in range(size):
            packet = write(plan, self._label() if len(b".".join(plan.asked)) < 180 else None)
            yield packet


def _longest(chance: random.Random) -> Labels:
    return tuple(bytes((97 + chance.randrange(26),)) * 61 for _ in range(3))


def _fitting(labels: Labels) -> Labels:
    while sum(map(len, labels)) + len(labels) > 254:
        labels = labels[1:]
    return labels


Spoiler = Callable[[random.Random, bytearray, Packet, int], None]


def corrupt(chance: random.Random, packet: Packet, *, floor: int | None = None) -> bytes:
    """A spoiled copy; no byte before ``floor`` changes but flags and counts."""
    data = bytearray(packet.data)
    floor = packet.question_end if floor is None else floor
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if len(data) <= floor + 2:
            break
        chance.choice(_SPOILERS)(chance, data, packet, floor)
    return bytes(data)


def _place(chance: random.Random, data: bytearray, packet: Packet, floor: int, *kinds: str) -> int:
    found = [p for k in kinds for p in packet.places.get(k, ()) if floor <= p < len(data) - 1]
    return chance.choice(found) if found else chance.randrange(floor, len(data) - 1)


def _repoint(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "pointer", "pointer", "label", "root")
    known = [p for places in packet.places.values() for p in places]
    old = data[at] << 8 | data[at + 1]
    target = chance.choice(
        (at, at - 1, at - 2, at + 2, 0, 11, 12, 13, chance.randrange(12, at + 3), 0x3FFF, len(data))
        + (*chance.choices(known, k=3), chance.randrange(12), packet.question_end, old - 1, old + 1)
    )
    data[at : at + 2] = (0xC000 | target & 0x3FFF).to_bytes(2, "big")


def _falsify_length(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "fixed") + 8
    old = int.from_bytes(data[at : at + 2], "big")
    new = chance.choice((0, 1, old + 1, old - 1, old + 2, old - 2, old * 2, 65_535, old + 12))
    data[at : at + 2] = (new & 0xFFFF).to_bytes(2, "big")


def _falsify_count(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    at = chance.choice((6, 8, 10))
    old = data[at] << 8 | data[at + 1]
    new = chance.choice((old + 1, old - 1, 0, old + 2, 65_535, chance.randrange(8)))
    data[at : at + 2] = (new & 0xFFFF).to_bytes(2, "big")
    if chance.random() < 0.3:
        data[chance.choice((7, 9, 11))] = chance.randrange(5)


def _change_flags(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    data[2] = chance.choice((0x80, 0x81, 0x84, 0x85, 0x82, 0x83, 0x86, 0xA8, 0xFF)) | 0x80
    data[3] = chance.choice((0, 0x80, 0xA0, 0x90, 0xC0, 1, 2, 3, 5, 15, 0x83))


def _relabel(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "label", "root")
    old = data[at]
    data[at] = chance.choice((0, 1, old + 1, old - 1, 63, 64, 0x80, 0xBF, 0xC0, 0xFF)) & 0xFF


def _flip(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        data[chance.randrange(floor, len(data))] ^= chance.choice(
            (1, 2, 32, 128, chance.randrange(256))
        )


def _cut(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    kinds = chance.choice((("record",), ("fixed",), ("pointer",), ()))
    del data[_place(chance, data, packet, floor, *kinds) + chance.choice((0, 0, 1, 2)) :]


def _append(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "record")
    data += chance.choice((b"\0", chance.randbytes(chance.randrange(1, 40)), bytes(data[at:])))


def _retype(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "fixed")
    data[at : at + 2] = chance.choice(_TYPES).to_bytes(2, "big")


def _reclass(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "fixed")
    if chance.random() < 0.5:
        data[at + 2 : at + 4] = chance.choice((0, 1, 3, 4, 254, 255, 65_535)).to_bytes(2, "big")
    else:
        data[at + 4 : at + 5] = bytes((chance.choice((0x80, 0xFF, 0x7F, 1)),))


def _move(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    """A piece is taken out, doubled or put elsewhere."""
    start, end = sorted(_place(chance, data, packet, floor, "record", "fixed") for _ in range(2))
    piece = data[start:end]
    if chance.random() < 0.6:
        del data[start:end]
    if chance.random() < 0.6 and len(data) > floor + 2 and len(data) < 2_000:
        at = _place(chance, data, packet, floor, "record")
        data[at:at] = piece


def _insert(chance: random.Random, data: bytearray, packet: Packet, floor: int) -> None:
    at = _place(chance, data, packet, floor, "record", "label", "fixed")
    data[at:at] = chance.choice(
        (b"\0", b"\xc0\x0c", b"\1a", chance.randbytes(chance.randrange(1, 12)))
    )


def _add_pointer_chain(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    """Pointers to pointers to pointers, and a record owned by the last of them."""
    steps = chance.choice((2, 14, 15, 16, 17, 18, 40, 130))
    owner, at = chance.choice((12, 12, 0, floor, len(data))), len(data) + 11
    pieces = [b"\0\xff\0\0\1\0\0\0\0" + (2 * steps).to_bytes(2, "big")]
    for step in range(steps):
        pieces.append(
            (0xC000 | (owner if not step else at + 2 * step - 2) & 0x3FFF).to_bytes(2, "big")
        )
    last = (0xC000 | at + 2 * steps - 2 & 0x3FFF).to_bytes(2, "big")
    data += b"".join(pieces) + last + b"\0\x10\0\1\0\0\0\0\0\2\1x"
    data[11] = (data[11] + 2) & 0xFF


def _add_long_name(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    """An alias to a name of about 255 octets, whole or by a pointer to the question."""
    octets = chance.choice((253, 254, 255, 256, 300)) - 1
    end = chance.choice((b"\0", b"\xc0\x0c"))
    octets -= 0 if end == b"\0" else len(bytes(data[12:floor])) - 5
    name = b""
    while octets > 1:
        size = min(63, octets - 1)
        name += bytes((size,)) + bytes((chance.choice(b"az.\\\0\xff"),)) * size
        octets -= size + 1
    data += b"\xc0\x0c\0\2\0\1\0\0\0\1" + (len(name) + len(end)).to_bytes(2, "big") + name + end
    data[11] = (data[11] + 1) & 0xFF


def _generate_noise(chance: random.Random, data: bytearray, _: Packet, floor: int) -> None:
    data[floor:] = chance.randbytes(chance.choice((1, 10, 12, 16, 40, 200)))


_SPOILERS: tuple[Spoiler, ...] = (
    *(_repoint, _repoint, _repoint, _falsify_length, _falsify_length, _falsify_count),
    *(_change_flags, _relabel, _flip, _flip, _cut, _append, _retype, _retype, _reclass, _move),
    *(_insert, _add_pointer_chain, _add_long_name, _generate_noise),
)
