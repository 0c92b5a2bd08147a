"""Decode names and strings from wire form: unusual bytes as ``\\DDD``, names in lower case.

Functions take a packet and an offset and return the text with the offset behind it. The bytes
that compression pointers read before an offset are recorded.
"""

import re
import secrets
from string import ascii_lowercase

# A chain of more pointers than this is an attack; no server writes one of half this length.
MAX_POINTERS = 16
# 254 octets of labels and a pointer to the root.
_MAX_PIECE = 256
_MAX_TEXT = 253
# Keys of known names are pointers as encoded in a packet. An offset that no pointer can express
# gives a key above 16 bits, which no packet holds.
_POINTER = 0xC000
_PLAIN = bytes(b for b in range(33, 127) if b not in (46, 92))
# Lower case by one call, with a backslash for every byte that has to be written as \DDD.
_LOWER = bytes(b + 32 if 65 <= b <= 90 else b if b in _PLAIN or b == 46 else 92 for b in range(256))
_LABEL = _LOWER[:46] + b"\\" + _LOWER[47:]
# The same for a name with its length bytes, which become dots if they are below the hyphen.
_LONGEST_PLAIN = 44
_DOTTED = bytes(46 if b <= _LONGEST_PLAIN else 92 if b == 46 else _LOWER[b] for b in range(256))
_QUESTION = 12
_ESCAPE = re.compile(r"\\\d{3}")


class Names:
    """The names of one packet; ``floor`` is where the part begins that is read now.

    ``low`` and ``high`` bound the bytes in front of ``floor`` that the names depend on.
    """

    __slots__ = ("floor", "high", "known", "low", "packet", "question")

    def __init__(self, packet: bytes, floor: int = 0, question: str | None = None) -> None:
        self.packet = packet
        self.floor = self.low = floor
        self.high = 0
        # The name in the question, where it is known to be plain.
        self.question = question
        # The text behind a pointer, and how many pointers are followed to read it: itself, and
        # those that it leads to, at most MAX_POINTERS in all.
        self.known: dict[int, tuple[str, int]] = {}

    def read(self, offset: int, end: int) -> tuple[str, int]:
        """The name at ``offset`` and the offset behind it; ``ValueError``, ``IndexError``."""
        packet, known, after, hops, rest = self.packet, self.known, offset, 0, ""
        labels: list[bytes] = []
        while length := packet[after]:
            start = after + 1
            if length > 63:
                pointer = length << 8 | packet[start]
                rest, hops = known.get(pointer) or self.follow(pointer, offset)
                after = start
                break
            after = start + length
            labels.append(packet[start:after])
        after += 1
        if after > end:
            raise ValueError("name runs past its record")
        if not labels:
            return rest, after
        text = f"{join_labels(labels)}.{rest}" if rest else join_labels(labels)
        if len(text) > _MAX_TEXT:
            _check_length(text)
        if hops < MAX_POINTERS:
            known[_POINTER + offset] = text, hops + 1
        return text, after

    def read_whole(self, offset: int, end: int) -> tuple[str, int]:
        """Like ``read``, and ``ValueError`` when the name holds a pointer as well."""
        name, after = self.read(offset, end)
        # RFC 3597 section 4 forbids pointers in all types younger than DNS itself.
        if self.packet[offset] > 63 or (name and self.known.get(_POINTER + offset) != (name, 1)):
            raise ValueError("compression pointer where none is allowed")
        return name, after

    def follow(self, pointer: int, start: int) -> tuple[str, int]:
        """The name behind a pointer in a name that began at ``start``, and pointers followed."""
        found = self.known.get(pointer)
        if found is None:
            suffix = self._find_in_question(pointer - _POINTER, start)
            found = (suffix, 1) if suffix else self._walk(pointer, start)
            self.known[pointer] = found
        return found

    def _find_in_question(self, offset: int, limit: int) -> str:
        """The name at an offset in a plain question, or nothing where it has to be walked."""
        plain = self.question
        if plain is None:
            plain = self.question = plain_name(self.packet, _QUESTION)
        at, end = offset - _QUESTION, _QUESTION + 2 + len(plain)
        if not 0 <= at < len(plain) or (at and plain[at - 1] != ".") or end > limit:
            return ""
        if offset < self.floor:
            self.low, self.high = min(self.low, offset), max(self.high, end)
        return plain[at:]

    def _walk(self, pointer: int, limit: int) -> tuple[str, int]:
        labels: list[bytes] = []
        hops = octets = 0
        while pointer:
            hops += 1
            start = pointer - _POINTER
            # The header holds no name, and its first bytes are new in each reply.
            if start < _QUESTION or hops > MAX_POINTERS:
                raise ValueError("bad label type, or pointers into the header or too many in a row")
            # What a pointer leads to must end before the name begins that holds the pointer, so
            # no chain of pointers can loop or read one byte in two ways.
            after, pointer = self._walk_piece(start, min(limit, start + _MAX_PIECE), labels)
            octets += after - start
            if octets > _MAX_PIECE + 2 * MAX_POINTERS:
                raise ValueError("name of more than 255 octets")
            if start < self.floor:
                self.low, self.high = min(self.low, start), max(self.high, after)
            limit = start
        text = join_labels(labels) if labels else ""
        if len(text) > _MAX_TEXT:
            _check_length(text)
        return text, hops

    def _walk_piece(self, offset: int, limit: int, labels: list[bytes]) -> tuple[int, int]:
        packet, pointer = self.packet, 0
        while length := packet[offset]:
            offset += 1
            if length > 63:
                pointer = length << 8 | packet[offset]
                break
            labels.append(packet[offset : offset + length])
            offset += length
            if offset > limit:
                break
        if offset >= limit:
            raise ValueError("compression pointer does not point backwards to a whole name")
        return offset + 1, pointer


def join_labels(labels: list[bytes]) -> str:
    """Text of a name from its labels; bytes that would change its meaning become ``\\DDD``."""
    if len(labels) == 1:
        text = labels[0].translate(_LABEL).decode()
    else:
        text = b".".join(labels).translate(_LOWER).decode()
        if text.count(".") != len(labels) - 1:
            text = "\\"
    if "\\" not in text:
        return text
    return ".".join(
        "".join(chr(b) if b in _PLAIN else f"\\{b:03d}" for b in label.lower()) for label in labels
    )


def plain_name(packet: bytes, offset: int) -> str:
    """The name at ``offset`` if it is whole and all its bytes are plain, or else nothing."""
    after, dots = offset, -1
    try:
        while length := packet[after]:
            after += length + 1
            dots += 1
            if length > _LONGEST_PLAIN:
                return ""
    except IndexError:
        return ""
    # Each length byte becomes a dot, so the name is plain if there is no dot besides.
    text = packet[offset + 1 : after].translate(_DOTTED).decode()
    return text if text.count(".") == dots and "\\" not in text and len(text) <= _MAX_TEXT else ""


def read_question_name(asked: bytes) -> str:
    """The name in a question section that the compiled loop encoded: plain, in any case."""
    labels, at = [], 0
    while length := asked[at]:
        labels.append(asked[at + 1 : at + 1 + length].decode().lower())
        at += length + 1
    return ".".join(labels)


def quote(data: bytes) -> str:
    """A character string unchanged between quotation marks."""
    text = data.decode("latin-1")
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(
        f"\\{chr(b)}" if b in (34, 92) else chr(b) if 32 <= b <= 126 else f"\\{b:03d}" for b in data
    )


def _check_length(text: str) -> None:
    if len(_ESCAPE.sub("?", text)) > _MAX_TEXT:
        raise ValueError("name of more than 255 octets")


def random_label() -> str:
    """Return a random label; no two need to begin alike or be equally long."""
    length = 5 + secrets.randbelow(4)
    return secrets.choice(ascii_lowercase) + secrets.token_hex(length)
