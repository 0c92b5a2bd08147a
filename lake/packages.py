"""Packages: files in one uncompressed ustar archive with bytes determined by its members alone.

The first member is a manifest. A reader knows from it the name and size of each further member, and
accepts only the headers that a writer would have written for them.
"""

import hashlib
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.errors import BadInput, Damaged, reason_of

BLOCK_BYTES = 512
# Names that need no prefix field, and sizes of eleven octal digits (POSIX.1-1988 ustar).
MAX_NAME_CHARACTERS = 100
MAX_MEMBER_BYTES = 8**11 - 1
_CHUNK_BYTES = 1 << 20
_END = b"\0" * tarfile.RECORDSIZE
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.DIRTYPE: "a folder",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a package: its bytes, or the path of a file with exactly ``size`` bytes."""

    name: str
    size: int
    content: bytes | Path


def member_of(name: str, content: bytes | Path) -> Member:
    """A member of the size that its content has; raises ``OSError`` for a file that is gone."""
    size = len(content) if isinstance(content, bytes) else content.stat().st_size
    return Member(name, size, content)


def package_bytes(members: Sequence[Member]) -> int:
    """The size of a package of these members."""
    used = sum(BLOCK_BYTES + member.size + _padding(member.size) for member in members)
    used += 2 * BLOCK_BYTES
    return used + -used % tarfile.RECORDSIZE


def write_package(members: Sequence[Member], first: int = 0) -> Iterator[bytes]:
    """Yield a package in chunks, from its byte ``first`` on.

    Files before it are not read. Raises ``Damaged`` where a file is no longer of its size.
    """
    at = 0
    for member in members:
        end = at + BLOCK_BYTES + member.size + _padding(member.size)
        if end > first:
            yield from _write_member(member, max(0, first - at))
        at = end
    yield _END[: max(0, package_bytes(members) - max(at, first))]


def _write_member(member: Member, first: int) -> Iterator[bytes]:
    yield _header(member.name, member.size)[first:]
    offset = max(0, first - BLOCK_BYTES)
    yield from _read_content(member, min(offset, member.size))
    yield (b"\0" * _padding(member.size))[max(0, offset - member.size) :]


def _read_content(member: Member, offset: int) -> Iterator[bytes]:
    if isinstance(member.content, bytes):
        yield member.content[offset:]
        return
    left = member.size - offset
    with member.content.open("rb") as handle:
        handle.seek(offset)
        while left and (chunk := handle.read(min(left, _CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk
    if left:
        raise Damaged(f"{member.name} became shorter while it was read")


def _header(name: str, size: int) -> bytes:
    """A header without owner, time or mode of the machine, so that bytes are the same anywhere."""
    if not name.isascii() or len(name) > MAX_NAME_CHARACTERS or size > MAX_MEMBER_BYTES:
        raise BadInput(f"{name}: a package holds no such file; names or sizes are too long")
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT)


def _padding(size: int) -> int:
    return -size % BLOCK_BYTES


class PackageReader:
    """Read a package from a stream that need not be seekable; raises ``BadInput`` on any doubt."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read_manifest(self, name: str, max_bytes: int) -> bytes:
        """Read the first member, which must have this name."""
        header = self._read(BLOCK_BYTES, name)
        try:
            found = tarfile.TarInfo.frombuf(header, "ascii", "replace")
        except tarfile.HeaderError as error:
            raise BadInput(f"this is no package: {error}", field=name) from error
        if found.size > max_bytes:
            raise BadInput(f"is larger than {max_bytes:,} bytes", field=name)
        self._check_header(header, name, max(0, found.size))
        data = self._read(found.size, name)
        self._skip_padding(found.size, name)
        return data

    def copy_member(self, name: str, size: int, sha256: str, path: Path) -> None:
        """Copy the next member to a new file and compare its name, size and SHA-256."""
        self._check_header(self._read(BLOCK_BYTES, name), name, size)
        digest, left = hashlib.sha256(), size
        with path.open("xb") as handle:
            while left:
                chunk = self._read(min(left, _CHUNK_BYTES), name)
                digest.update(chunk)
                handle.write(chunk)
                left -= len(chunk)
        self._skip_padding(size, name)
        if digest.hexdigest() != sha256:
            raise BadInput("is damaged: its SHA-256 is not that of the manifest", field=name)

    def finish(self, n_bytes: int) -> None:
        """Read the end of a package of ``n_bytes`` members and padding; nothing may follow it."""
        rest = self._stream.read(tarfile.RECORDSIZE + 1)
        wanted = 2 * BLOCK_BYTES
        wanted += -(n_bytes + wanted) % tarfile.RECORDSIZE
        if len(rest) < wanted:
            raise BadInput("the package is cut off before its end")
        if rest != _END[:wanted]:
            raise BadInput(f"the package holds more than its manifest lists: {_describe(rest)}")

    def _check_header(self, header: bytes, name: str, size: int) -> None:
        if header != _header(name, size):
            raise BadInput(f"the package holds {_describe(header)} in its place", field=name)

    def _skip_padding(self, size: int, name: str) -> None:
        if self._read(_padding(size), name).strip(b"\0"):
            raise BadInput("is followed by bytes that belong to no file", field=name)

    def _read(self, size: int, name: str) -> bytes:
        pieces, left = [], size
        while left:
            try:
                piece = self._stream.read(left)
            except OSError as error:
                raise BadInput(f"cannot be read: {reason_of(error)}", field=name) from error
            if not piece:
                raise BadInput("the package is cut off here", field=name)
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


def _describe(header: bytes) -> str:
    """What a header that was not expected represents."""
    try:
        found = tarfile.TarInfo.frombuf(header[:BLOCK_BYTES], "utf-8", "replace")
    except tarfile.HeaderError:
        return "something that is no file"
    kind = _KINDS.get(found.type, "a file" if found.isreg() else "an entry of another kind")
    return f"{kind} {found.name[:MAX_NAME_CHARACTERS]!r} of {found.size:,} bytes"
