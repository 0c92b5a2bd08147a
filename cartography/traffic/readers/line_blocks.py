"""Read files of any length as blocks of whole lines: plain or gzip, complete or truncated.

The readable part of a damaged gzip is used, and the damage is reported. The block size bounds the
memory, whatever the lines are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cartography.traffic.error_counts import ErrorCounts
from core.errors import BadInput
from core.files import GZIP_MAGIC, CutStream, DamagedStream, inflate

BLOCK_BYTES = 8 * 1024 * 1024
# Zeek's longest fields are URIs and certificates' names; a longer line is an attack or damage.
MAX_LINE_BYTES = 1024 * 1024
TOO_LONG = "line longer than 1 MiB"
_READ_BYTES = 1024 * 1024
_PACKED = {
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines; only the last line of a file may lack its newline."""

    data: bytes
    # Number of each line in the file, from 1.
    lines: NDArray[np.int64]

    @property
    def ends_open(self) -> bool:
        return not self.data.endswith(b"\n")


@dataclass
class Source:
    """A file to read once; ``damage`` is set when its gzip ends early or is broken."""

    path: Path
    # Called with the bytes that were read from the file, and with those that these unpack to.
    count_bytes: Callable[[int, int], None] | None = None
    damage: str = ""
    tally: ErrorCounts = field(default_factory=ErrorCounts)

    def head(self) -> bytes:
        """The first bytes, unpacked; raises ``BadInput`` when the file cannot be read."""
        return next(iter(Source(self.path).chunks()), b"")[:4096]

    def chunks(self) -> Iterator[bytes]:
        """The plain bytes in pieces; raises ``BadInput`` when the file cannot be read."""
        try:
            with self.path.open("rb") as file:
                raw = iter(lambda: file.read(_READ_BYTES), b"")
                first = next(raw, b"")
                _refuse_packed(first, self.path)
                pieces = self._counted(_chain(first, raw), is_packed=True)
                plain = self._unpack(pieces) if first.startswith(GZIP_MAGIC) else pieces
                yield from self._counted(plain, is_packed=False)
        except OSError as error:
            raise BadInput(f"cannot read {self.path}: {error.strerror}") from error

    def _counted(self, pieces: Iterator[bytes], *, is_packed: bool) -> Iterator[bytes]:
        for piece in pieces:
            if self.count_bytes is not None:
                self.count_bytes(len(piece) * is_packed, len(piece) * (not is_packed))
            yield piece

    def _unpack(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """The members of a gzip one after the other, as far as they go."""
        try:
            yield from inflate(raw)
        except CutStream:
            self.damage = "the gzip ends early; what it holds was read"
        except DamagedStream:
            self.damage = "the gzip is broken; the part before it was read"

    def blocks(self) -> Iterator[Block]:
        """Whole lines, about eight megabytes at a time; lines that are too long are counted."""
        rest, line = b"", 1
        for piece in _gather(self.chunks()):
            data = rest + piece
            cut = data.rfind(b"\n") + 1
            if cut:
                block = self._block(data[:cut], line)
                line += data.count(b"\n", 0, cut)
                if block.data:
                    yield block
            # Of a line that is too long the beginning is enough to count it.
            rest = data[cut : cut + MAX_LINE_BYTES + 1]
        if rest:
            yield self._block(rest, line)

    def _block(self, data: bytes, first: int) -> Block:
        data = data.replace(b"\r\n", b"\n") if b"\r\n" in data else data
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        lengths = np.diff(ends, prepend=-1) - 1
        lines = first + np.arange(len(ends), dtype=np.int64)
        long, blank = lengths > MAX_LINE_BYTES, lengths == 0
        if not (long.any() or blank.any()):
            return Block(data, lines)
        self.tally.add(TOO_LONG, lines[long].tolist())
        return Block(_without(data, ends, long | blank), lines[~(long | blank)])


def _without(data: bytes, ends: NDArray[np.int64], dropped: NDArray[np.bool_]) -> bytes:
    """The data without some of its lines."""
    starts = np.append(0, ends[:-1] + 1)
    edges = [*starts[dropped].tolist(), len(data)]
    begins = [0, *(ends[dropped] + 1).tolist()]
    return b"".join(data[b:e] for b, e in zip(begins, edges, strict=True))


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _gather(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of about a block, so that there are few of them."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _refuse_packed(first: bytes, path: Path) -> None:
    for magic, name in _PACKED.items():
        if first.startswith(magic):
            raise BadInput(f"{path} is packed by {name}; unpack it, or pack it by gzip")
