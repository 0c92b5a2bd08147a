"""Read files of RIPE Atlas results, plain or gzip, in large pieces into arrays of numbers.

Results that are not plain JSON are rewritten by ``ripe_atlas_fallback``. Unreadable results are
counted by reason and skipped.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.importers.json_tokens import end_object
from analysis.campaigns.importers.ripe_atlas_fallback import rewrite
from analysis.campaigns.importers.ripe_atlas_scan import (
    IRREGULAR,
    RECORDS,
    TRUSTED,
    ScanBuffers,
    read_records,
)
from core.errors import BadInput, reason_of

# Bytes scanned at once; larger pieces are no faster.
PIECE_OCTETS = 48 << 20
# A longer object is not a result.
MAX_RESULT_OCTETS = 64 << 20
_READ_OCTETS = 4 << 20
_GZIP = b"\x1f\x8b"
# The compiled scanner may read a few bytes beyond the end.
_PADDING = bytes(64)
_OPEN = ord("{")
# All results of a file begin with the same first key.
_BEGINNING = re.compile(rb'\{\s*"[^"]{0,20}"')


# Some scripts wrap the list of results in an object; no result has such a first key.
_WRAPPER = re.compile(rb'\s*\{\s*"(?!result")[a-z_ ]{1,40}"\s*:\s*[\[{]', re.IGNORECASE)
_MAX_WRAPPED_OCTETS = 1 << 29


class Piece(NamedTuple):
    """A scanned piece of text; ``rewritten`` if its texts may have escapes of the fallback."""

    text: NDArray[np.uint8]
    buffers: ScanBuffers
    rewritten: bool


class _Irregular(NamedTuple):
    """A range of bytes that is not plain JSON, and its replacement."""

    begin: int
    end: int
    replacement: bytes


@dataclass
class Reading:
    """Read files; ``lost`` counts unreadable results by reason."""

    piece_octets: int = PIECE_OCTETS
    lost: Counter[str] = field(default_factory=Counter)
    _buffers: ScanBuffers | None = None
    _rest: bytes = b""
    _broken_until: int = -1

    def read(self, path: Path) -> Iterator[Piece]:
        """Yield pieces of a file, each valid until the next is requested; raise ``BadInput``."""
        self._rest = b""
        for octets in self._chunks(path):
            yield from self._drain(self._rest + octets, last=False)
        yield from self._drain(self._rest, last=True)

    def _chunks(self, path: Path) -> Iterator[bytes]:
        held: list[bytes] = []
        for octets in self._octets(path):
            held.append(octets)
            if sum(map(len, held)) >= self.piece_octets:
                yield b"".join(held)
                held = []
        yield b"".join(held)

    def _octets(self, path: Path) -> Iterator[bytes]:
        try:
            with path.open("rb") as stream:
                start = stream.read(len(_GZIP))
                stream.seek(0)
                plain = iter(lambda: stream.read(_READ_OCTETS), b"")
                yield from _unwrap(self._unpack(plain) if start == _GZIP else plain)
        except OSError as error:
            raise BadInput(f"the results cannot be read: {reason_of(error)}") from error

    def _unpack(self, packed: Iterator[bytes]) -> Iterator[bytes]:
        """Decompress gzip members up to the first error."""
        member = zlib.decompressobj(31)
        for octets in packed:
            left = octets
            while left:
                if member.eof:
                    member = zlib.decompressobj(31)
                try:
                    yield member.decompress(left, _READ_OCTETS)
                except zlib.error:
                    self.lost["damaged"] += 1
                    return
                left = member.unused_data if member.eof else member.unconsumed_tail
        if not member.eof:
            self.lost["damaged"] += 1

    def _drain(self, data: bytes, *, last: bool) -> Iterator[Piece]:
        """Yield all results of the data except an incomplete last one."""
        text = np.frombuffer(b"".join([data, _PADDING]), np.uint8)
        at, self._broken_until, waits = 0, -1, False
        while at < len(data) and not waits:
            buffers = self._reset_buffers(len(data))
            begin, irregular = at, list[_Irregular]()
            at, how = read_records(text, (at, len(data)), *buffers)
            while how == IRREGULAR and not waits:
                item = self._handle_irregular(data, text, at, last)
                waits = item is None
                if item is not None:
                    irregular.append(item)
                    at, how = read_records(text, (item.end, len(data)), *buffers)
            yield (
                _rescan(data[begin:at], begin, irregular, buffers)
                if irregular
                else Piece(text, buffers, False)
            )
        self._rest = data[at:]

    def _reset_buffers(self, octets: int) -> ScanBuffers:
        if self._buffers is None or len(self._buffers.replies) < octets // 3 + 2:
            self._buffers = ScanBuffers.of(octets)
        self._buffers.counts[:] = 0
        return self._buffers

    def _handle_irregular(
        self, data: bytes, text: NDArray[np.uint8], at: int, last: bool
    ) -> _Irregular | None:
        """Return the replacement of an irregular range: a rewritten result, or nothing if broken.

        Return ``None`` when more data is needed to decide.
        """
        end = int(end_object(text, at, len(data))) if data[at] == _OPEN else at
        if end < 0 and not last and len(data) - at <= MAX_RESULT_OCTETS:
            return None
        reason = "cut" if end < 0 else "not_json"
        if end > at:
            try:
                return _Irregular(at, end, rewrite(data[at:end]))
            except (ValueError, RecursionError):
                pass
        after = _find_next(data, at, end)
        # Garbage between two results is counted once, in however many pieces.
        if data[at] == _OPEN or self._broken_until != at:
            self.lost[reason] += 1
        self._broken_until = after
        return _Irregular(at, after, b"")


def _unwrap(octets: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes unchanged, or only the list of results of a wrapper object."""
    first = next(octets, b"")
    if not _WRAPPER.match(first):
        yield first
        yield from octets
        return
    held = [first]
    while len(held[-1]) and sum(map(len, held)) <= _MAX_WRAPPED_OCTETS:
        held.append(next(octets, b""))
    whole = b"".join(held)
    try:
        found = json.loads(whole)
        lists = [v for v in found.values() if isinstance(v, list) and v and _is_result(v[0])]
        yield json.dumps(lists[0]).encode()
    except (ValueError, RecursionError, IndexError):
        yield whole
        yield from octets


def _is_result(found: object) -> bool:
    return isinstance(found, dict) and "prb_id" in found


def _find_next(data: bytes, at: int, end: int) -> int:
    """Return the next position at which a result may begin after broken data."""
    if data[at] != _OPEN:
        places = [data.find(b"{", at), data.find(b"\n", at) + 1]
    else:
        beginning = _BEGINNING.match(data, at)
        same_key = data.find(beginning[0], at + 1) if beginning else -1
        places = [same_key, data.find(b"\n{", at) + 1, end]
    return min((place for place in places if place > at), default=len(data))


def _rescan(data: bytes, begin: int, irregular: list[_Irregular], buffers: ScanBuffers) -> Piece:
    """Scan a piece again with its irregular ranges replaced."""
    parts, at = [], begin
    for item in irregular:
        parts += [data[at - begin : item.begin - begin], item.replacement]
        at = item.end
    whole = b"".join([*parts, data[at - begin :]])
    text = np.frombuffer(whole + _PADDING, np.uint8)
    rows = int(buffers.counts[RECORDS]) + len(irregular)
    again = ScanBuffers.of(max(len(whole), 16 * rows))
    again.counts[TRUSTED] = 1
    read_records(text, (0, len(whole)), *again)
    return Piece(text, again, True)
