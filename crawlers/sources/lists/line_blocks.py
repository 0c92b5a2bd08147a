"""Read a list, plain or gzip, as blocks of whole lines with their numbers.

One block is in memory at a time; the decompressed size is bounded.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import BadInput, MissingData
from core.files import DamagedStream, PlainReader

_BLOCK_OCTETS = 256 * 1024
# What lies behind this in a line is dropped: no name or record that is used is there.
MAX_LINE_OCTETS = 1024 * 1024
_UNREADABLE = {
    b"PK\x03\x04": "a zip or spreadsheet file; unpack it, or export it as CSV",
    b"BZh": "a bzip2 file; unpack it, or pack it with gzip",
    b"\xfd7zXZ": "an xz file; unpack it, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it, or pack it with gzip",
    b"PAR1": "a Parquet file; export one column of it as text",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Block:
    """Whole lines, each with its line feed but perhaps the last; ``line`` numbers the first."""

    line: int
    data: bytes


class BlockFile:
    """Read one file; ``status`` is "OK", "TRUNCATED" or "BUDGET".

    Raises ``MissingData`` where there is no such file, ``BadInput`` where it is no text.
    """

    def __init__(self, path: Path, max_octets: int) -> None:
        self.path = path
        self.status = "OK"
        self.octets = 0
        self._left = max_octets
        self._magic = self._read_magic(path)

    def _read_magic(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                magic = file.read(8)
        except OSError as error:
            raise MissingData(f"{path.name} cannot be read: {error.strerror}") from error
        for start, what in _UNREADABLE.items():
            if magic.startswith(start):
                raise BadInput(f"{path.name} is {what}")
        return magic

    def blocks(self) -> Iterator[Block]:
        """The file from its beginning."""
        line, cut = 1, _LineCutter()
        for chunk in self._text():
            for data in cut.feed(chunk):
                yield Block(line, data)
                line += data.count(b"\n")
        if rest := cut.rest():
            yield Block(line, rest)

    def _text(self) -> Iterator[bytes]:
        """Decoded to UTF-8, without a mark."""
        chunks = self._chunks()
        first = next(chunks, b"")
        if first.startswith(_UTF16):
            decoder = codecs.getincrementaldecoder("utf-16")("replace")
            yield decoder.decode(first).encode("utf-8", "replace")
            for chunk in chunks:
                yield decoder.decode(chunk).encode("utf-8", "replace")
            return
        if b"\0" in first[:4096]:
            raise BadInput(f"{self.path.name} is a binary file, not a list of names")
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks

    def _chunks(self) -> Iterator[bytes]:
        with self.path.open("rb") as raw:
            file = PlainReader(raw)
            while chunk := self._read(file):
                yield chunk

    def _read(self, file: PlainReader) -> bytes:
        if self._left <= 0:
            self.status = "BUDGET" if file.read(1) else self.status
            return b""
        try:
            chunk = file.read(min(_BLOCK_OCTETS, self._left))
        except (OSError, DamagedStream):
            # Complete lines up to here are used, and the status reports the truncation.
            self.status = "TRUNCATED"
            return b""
        self._left -= len(chunk)
        self.octets += len(chunk)
        return chunk


class _LineCutter:
    """Cuts chunks behind their last line feed and keeps the rest for the next one."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        end = chunk.rfind(b"\n") + 1
        if end:
            head = b"".join([*self._kept, chunk[:end]]) if self._kept else chunk[:end]
            self._kept, self._size = [], 0
            yield head
        self._buffer(chunk[end:] if end else chunk)

    def rest(self) -> bytes:
        return b"".join(self._kept)

    def _buffer(self, tail: bytes) -> None:
        part = tail[: MAX_LINE_OCTETS - self._size]
        if part:
            self._kept.append(part)
            self._size += len(part)
