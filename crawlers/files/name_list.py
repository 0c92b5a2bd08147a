"""Read names to resolve from a file, as questions with numbers, only as far as needed."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product
from typing import BinaryIO

from core.errors import BadInput
from core.records import Rejection
from crawlers.engine.config import Block, Question

_BLOCK_OCTETS = 1 << 16
# A line that is longer holds no name in any case, and must not fill the memory.
_LONGEST_LINE = 4_096
_KEPT_REJECTIONS = 20
_PLAIN = b"abcdefghijklmnopqrstuvwxyz0123456789-_.\n"
_DOTS_FOR_ENDS = bytes.maketrans(b"\n", b".")
# Every octet but those that separate names, or labels, becomes the same one.
_NAME_RUNS = bytes(10 if octet == 10 else 120 for octet in range(256))
_LABEL_RUNS = bytes(46 if octet in b".\n" else 120 for octet in range(256))
_TOO_LONG_NAME, _TOO_LONG_LABEL = b"x" * 254, b"x" * 64
_SEPARATORS = re.compile(r"[\s,;]")
_NAME = re.compile(r"[a-z0-9_*-]{1,63}(\.[a-z0-9_-]{1,63})*")
_make = tuple.__new__


class NameList:
    """A list of names, one per line (the first column counts); ``#`` begins a remark.

    Each question's ``tag`` is its number in the list, so that two readings of the same list with
    the same types and subnet give the same tags.
    """

    def __init__(
        self,
        source: BinaryIO,
        types: Sequence[str],
        subnet: str = "",
        zone_of: Callable[[str], str] | None = None,
    ) -> None:
        self._source = source
        self._types = tuple(types)
        self._subnet = subnet
        self._zone_of = zone_of
        self._line = 0
        self.rejected_count = 0
        self.rejected: list[Rejection] = []
        # How many questions were read so far: the tag of the next one.
        self.next_tag = 0

    def questions(self) -> Iterator[Question]:
        """Every question of the list, in its order."""
        subnet, zone_of, zone = self._subnet, self._zone_of, ""
        for text in self._read_blocks():
            for name, rrtype in product(text.decode("ascii").split("\n"), self._types):
                tag = self.next_tag
                self.next_tag = tag + 1
                if zone_of:
                    zone = zone_of(name)
                yield _make(Question, (name, rrtype, tag, None, subnet, zone))

    def questions_after(self, next_tag: int, open_tags: frozenset[int]) -> Iterator[Question]:
        """What an earlier reading left: the open questions, and all from ``next_tag`` on."""
        return (q for q in self.questions() if q.tag >= next_tag or q.tag in open_tags)

    def blocks(self) -> Iterator[Block]:
        """The same as text: number of the first question, and names one per line.

        ``next_tag`` is then the caller's to keep.
        """
        for text in self._read_blocks():
            tag = self.next_tag
            self.next_tag += (text.count(b"\n") + 1) * len(self._types)
            yield Block(tag, text)

    def blocks_after(
        self, next_tag: int, open_tags: frozenset[int]
    ) -> tuple[list[Question], Iterator[Block]]:
        """What an earlier reading left: questions one by one, and blocks of whole names."""
        blocks, types, left = self.blocks(), self._types, list[Question]()
        for first, text, _ in blocks:
            names = text.decode("ascii").split("\n")
            end = first + len(names) * len(types)
            # The name that was read in part, if any, belongs to the questions.
            n_read = max(0, -(-(next_tag - first) // len(types)))
            for tag in range(first, min(end, first + n_read * len(types))):
                if tag >= next_tag or tag in open_tags:
                    number, kind = divmod(tag - first, len(types))
                    left.append(Question(names[number], types[kind], tag))
            if end > next_tag:
                rest = "\n".join(names[n_read:]).encode("ascii")
                again = [Block(first + n_read * len(types), rest)] if rest else []
                return left, chain(again, blocks)
        return left, iter(())

    def _read_blocks(self) -> Iterator[bytes]:
        """Names, one per line, at least one in each block."""
        rest = b""
        while block := self._source.read(_BLOCK_OCTETS):
            whole, cut, rest = (rest + block).rpartition(b"\n")
            if cut:
                if names := self._read_names(whole):
                    yield names
            elif len(rest) > _LONGEST_LINE:
                rest = rest[:_LONGEST_LINE]
        if rest and (names := self._read_names(rest)):
            yield names

    def _read_names(self, block: bytes) -> bytes:
        """Names of whole lines; most blocks hold nothing but plain names."""
        lower = block.lower()
        if b"\r" in lower:
            lower = lower.replace(b"\r\n", b"\n")
        is_plain = (
            not lower.translate(None, _PLAIN)
            # Neither an empty line nor an empty label.
            and b".." not in b"." + lower.translate(_DOTS_FOR_ENDS) + b"."
            and _TOO_LONG_LABEL not in lower.translate(_LABEL_RUNS)
            and _TOO_LONG_NAME not in lower.translate(_NAME_RUNS)
        )
        if is_plain:
            self._line += lower.count(b"\n") + 1
            return lower
        names = [name for line in block.split(b"\n") if (name := self._read_line(line))]
        return "\n".join(names).encode("ascii")

    def _read_line(self, line: bytes) -> str:
        self._line += 1
        text = line[:_LONGEST_LINE].decode("utf-8", "replace").strip()
        if not text or text.startswith("#"):
            return ""
        try:
            return _read_name(_SEPARATORS.split(text, maxsplit=1)[0])
        except BadInput as error:
            self.rejected_count += 1
            if len(self.rejected) < _KEPT_REJECTIONS:
                self.rejected.append(Rejection(self._line, text[:100], str(error)))
            return ""


def _read_name(text: str) -> str:
    # Service labels such as _dmarc are good names to ask for, though no host is called so.
    plain = text.rstrip(".").lower()
    if len(plain) <= 253 and _NAME.fullmatch(plain):
        return plain
    # The rules of international names take as long to load as some thousand names to resolve.
    from crawlers.files.domain_list import normalise_domain  # noqa: PLC0415

    return normalise_domain(text)
