"""Files: replaced in one durable step, read through gzip within a limit, secrets of one owner."""

import contextlib
import gzip
import io
import lzma
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from core.errors import BadInput

GZIP_MAGIC = b"\x1f\x8b"
# Bytes that are decompressed at a time: a bomb is noticed before it fills the memory.
_PLAIN_PIECE_BYTES = 1 << 20
# zlib copies the input that waits, so that it is fed in small slices.
_PACKED_PIECE_BYTES = 1 << 16
_ZLIB_BITS, _GZIP_BITS = 15, 31
_SECRET_BYTES = 48
# A shorter text is what an interrupted write left.
_LEAST_SECRET_CHARACTERS = 32


class DamagedStream(BadInput):
    """A compressed stream that is broken or cut off."""


class CutStream(DamagedStream):
    """A compressed stream that ends before its last member does."""


class TooLarge(BadInput):
    """A file that is larger than its reader accepts, as it is or decompressed."""


@contextlib.contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; then flush it to disk and rename it to ``path``.

    A reader sees the old file or the new one, also after a power failure. ``private`` gives mode
    0600. After any error the old file remains and the temporary one is removed; ``OSError``
    passes through.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Threads of one process may write the same file.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        if private:
            temporary.touch(mode=0o600)
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; then put it in the place of ``path``, which may exist.

    After any error the old folder remains and the new one is removed.
    """
    work = path.with_name(f".{path.name}.{os.getpid()}")
    old = path.with_name(f".{path.name}.old.{os.getpid()}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        yield work
        # A folder with entries cannot be renamed onto.
        if path.exists():
            path.replace(old)
        work.replace(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> None:
    """Replace a file by ``data``, as :func:`replace_file` does."""
    with replace_file(path, private=private) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Replace a file by ``text`` in UTF-8, as :func:`replace_file` does."""
    write_bytes(path, text.encode(), private=private)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk: names of new files, renames."""
    _sync(folder)


def sync_file(path: Path) -> None:
    """Flush the bytes of a file to disk."""
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_or_create_secret(path: Path) -> str:
    """Return the random text of a file, made where there is none; raise ``OSError``.

    An empty or short file is what an interrupted start left, and counts as none.
    """
    found = _read_secret(path)
    if not found:
        write_text(path, secrets.token_urlsafe(_SECRET_BYTES), private=True)
        # Read again: of several processes that start at once, the last one to write counts.
        found = _read_secret(path)
    return found


def _read_secret(path: Path) -> str:
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return ""
    return text if len(text) >= _LEAST_SECRET_CHARACTERS else ""


def open_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> TextIO:
    """Open a text, packed by its suffix (.gz, .xz) or plain; undecodable bytes become marks.

    Reading a damaged packed file raises ``EOFError``, ``OSError``, ``zlib.error`` or
    ``lzma.LZMAError``.
    """
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, errors="replace", newline=newline)
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding=encoding, errors="replace", newline=newline)
    return path.open(encoding=encoding, errors="replace", newline=newline)


class Inflater:
    """Decompress the pieces of one gzip or zlib stream as they arrive, within a limit.

    The members of a gzip follow one another; zeros behind the last one are padding.
    ``packed_bytes`` and ``plain_bytes`` count what was fed and returned.
    """

    def __init__(self, max_bytes: int | None = None, *, is_zlib: bool = False) -> None:
        self.packed_bytes = self.plain_bytes = 0
        self._max_bytes = max_bytes
        self._is_zlib = is_zlib
        self._member = self._open_member()

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """Yield what a piece decompresses to; raise ``DamagedStream`` or ``TooLarge``."""
        for at in range(0, len(packed), _PACKED_PIECE_BYTES):
            piece = packed[at : at + _PACKED_PIECE_BYTES]
            self.packed_bytes += len(piece)
            try:
                yield from self._decompress(piece)
            except zlib.error as error:
                raise DamagedStream(f"the gzip file is damaged: {error}") from error

    def finish(self) -> Iterator[bytes]:
        """Yield what is left; raise ``DamagedStream`` where the stream is cut off."""
        if not self._member.eof:
            if rest := self._member.flush():
                yield self._count(rest)
            raise CutStream("the gzip file is cut off")

    def _open_member(self) -> "zlib._Decompress":
        return zlib.decompressobj(_ZLIB_BITS if self._is_zlib else _GZIP_BITS)

    def _decompress(self, piece: bytes) -> Iterator[bytes]:
        while piece:
            if self._member.eof:
                if self._is_zlib:
                    raise DamagedStream("something follows the end of the compressed data")
                piece = piece.lstrip(b"\0")
                if not piece:
                    return
                self._member = self._open_member()
            plain = self._member.decompress(piece, _PLAIN_PIECE_BYTES)
            piece = self._member.unused_data or self._member.unconsumed_tail
            if plain:
                yield self._count(plain)

    def _count(self, plain: bytes) -> bytes:
        self.plain_bytes += len(plain)
        if self._max_bytes is not None and self.plain_bytes > self._max_bytes:
            raise _too_large(self._max_bytes)
        return plain


class PlainReader(io.RawIOBase):
    """The plain bytes of a stream that may be packed by gzip, up to ``max_bytes``.

    Reading raises ``DamagedStream`` or ``TooLarge`` where that begins; everything before it has
    been returned by then.
    """

    def __init__(self, stream: BinaryIO, max_bytes: int | None = None) -> None:
        super().__init__()
        first = stream.read(_PACKED_PIECE_BYTES)
        pieces = _chain(first, stream)
        is_packed = first.startswith(GZIP_MAGIC)
        self._pieces = inflate(pieces, max_bytes) if is_packed else _limit(pieces, max_bytes)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def inflate(pieces: Iterator[bytes], max_bytes: int | None = None) -> Iterator[bytes]:
    """Yield the plain bytes of a gzip in pieces; raise ``DamagedStream`` or ``TooLarge``."""
    inflater = Inflater(max_bytes)
    for piece in pieces:
        yield from inflater.feed(piece)
    yield from inflater.finish()


def decompress(data: bytes, max_bytes: int) -> bytes:
    """Return the plain bytes of a whole zlib stream; raise ``DamagedStream`` or ``TooLarge``."""
    inflater = Inflater(max_bytes, is_zlib=True)
    return b"".join([*inflater.feed(data), *inflater.finish()])


def unpack(data: bytes, max_bytes: int) -> bytes:
    """Return a file without its gzip layer, if any; raise ``DamagedStream`` or ``TooLarge``."""
    if data.startswith(GZIP_MAGIC):
        return b"".join(inflate(iter([data]), max_bytes))
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def _chain(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    if first:
        yield first
        yield from iter(lambda: stream.read(_PLAIN_PIECE_BYTES), b"")


def _limit(pieces: Iterator[bytes], max_bytes: int | None) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if max_bytes is not None and size > max_bytes:
            raise _too_large(max_bytes)
        yield piece


def _too_large(max_bytes: int) -> TooLarge:
    mib, rest = divmod(max_bytes, 1 << 20)
    limit = f"{max_bytes:,} bytes" if rest else f"{mib:,} MiB"
    return TooLarge(f"the file is too large: more than {limit} unpacked")
