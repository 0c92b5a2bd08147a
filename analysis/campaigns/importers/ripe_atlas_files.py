"""Files of RIPE Atlas results, plain or gzip, become sheets of numbers, a large piece at a time.

What is not plain is read by Python's own reader and written again in the plain form. What cannot be
read is counted by its reason, and what follows it is read on.
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
    ODD,
    RECORDS,
    TRUSTED,
    Sheets,
    read_records,
)
from core.errors import BadInput, reason_of

# Octets that are looked at together; larger pieces are no faster.
PIECE_OCTETS = 48 << 20
# A result that is longer than this is none.
MAX_RESULT_OCTETS = 64 << 20
_READ_OCTETS = 4 << 20
_GZIP = b"\x1f\x8b"
# The compiled reader may look a little beyond the end, where nothing has a meaning.
_PADDING = bytes(64)
_OPEN = ord("{")
# Results of a file begin alike: an object and its first key.
_BEGINNING = re.compile(rb'\{\s*"[^"]{0,20}"')


# Scripts keep results as a list within an object of their own; no result has such a key first.
_FRAME = re.compile(rb'\s*\{\s*"(?!result")[a-z_ ]{1,40}"\s*:\s*[\[{]', re.IGNORECASE)
_MOST_FRAMED_OCTETS = 1 << 29


class Piece(NamedTuple):
    """What was read of some octets; ``rewritten`` says that texts in it may hold marks."""

    text: NDArray[np.uint8]
    sheets: Sheets
    rewritten: bool


class _Odd(NamedTuple):
    """Octets that are not plain, and what stands for them."""

    begin: int
    end: int
    instead: bytes


@dataclass
class Reading:
    """Reads files; ``lost`` counts what could not be read, by its reason."""

    piece_octets: int = PIECE_OCTETS
    lost: Counter[str] = field(default_factory=Counter)
    _sheets: Sheets | None = None
    _rest: bytes = b""
    _broken_until: int = -1

    def read(self, path: Path) -> Iterator[Piece]:
        """Pieces of a file, each valid until the next is asked for; raises ``BadInput``."""
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
                yield from _unframed(self._unpack(plain) if start == _GZIP else plain)
        except OSError as error:
            raise BadInput(f"the results cannot be read: {reason_of(error)}") from error

    def _unpack(self, packed: Iterator[bytes]) -> Iterator[bytes]:
        """What gzip packed, as far as it is sound."""
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
        """All results of the data but one that goes on behind its end."""
        text = np.frombuffer(b"".join([data, _PADDING]), np.uint8)
        at, self._broken_until, waits = 0, -1, False
        while at < len(data) and not waits:
            sheets = self._room(len(data))
            begin, odds = at, list[_Odd]()
            at, how = read_records(text, (at, len(data)), *sheets)
            while how == ODD and not waits:
                odd = self._judge(data, text, at, last)
                waits = odd is None
                if odd is not None:
                    odds.append(odd)
                    at, how = read_records(text, (odd.end, len(data)), *sheets)
            yield (
                _reread(data[begin:at], begin, odds, sheets) if odds else Piece(text, sheets, False)
            )
        self._rest = data[at:]

    def _room(self, octets: int) -> Sheets:
        if self._sheets is None or len(self._sheets.replies) < octets // 3 + 2:
            self._sheets = Sheets.of(octets)
        self._sheets.counts[:] = 0
        return self._sheets

    def _judge(self, data: bytes, text: NDArray[np.uint8], at: int, last: bool) -> _Odd | None:
        """What an odd place is: a result written again, or something broken; ``None`` when more
        has to come before that can be said."""
        end = int(end_object(text, at, len(data))) if data[at] == _OPEN else at
        if end < 0 and not last and len(data) - at <= MAX_RESULT_OCTETS:
            return None
        reason = "cut" if end < 0 else "not_json"
        if end > at:
            try:
                return _Odd(at, end, rewrite(data[at:end]))
            except (ValueError, RecursionError):
                pass
        after = _next(data, at, end)
        # What lies between two results is lost once, in however many pieces.
        if data[at] == _OPEN or self._broken_until != at:
            self.lost[reason] += 1
        self._broken_until = after
        return _Odd(at, after, b"")


def _unframed(octets: Iterator[bytes]) -> Iterator[bytes]:
    """The same octets, or of an object that holds a list of results only the list."""
    first = next(octets, b"")
    if not _FRAME.match(first):
        yield first
        yield from octets
        return
    held = [first]
    while len(held[-1]) and sum(map(len, held)) <= _MOST_FRAMED_OCTETS:
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


def _next(data: bytes, at: int, end: int) -> int:
    """Where results may go on behind something broken."""
    if data[at] != _OPEN:
        places = [data.find(b"{", at), data.find(b"\n", at) + 1]
    else:
        beginning = _BEGINNING.match(data, at)
        alike = data.find(beginning[0], at + 1) if beginning else -1
        places = [alike, data.find(b"\n{", at) + 1, end]
    return min((place for place in places if place > at), default=len(data))


def _reread(data: bytes, begin: int, odds: list[_Odd], sheets: Sheets) -> Piece:
    """The same octets with what stands for odd ones."""
    parts, at = [], begin
    for odd in odds:
        parts += [data[at - begin : odd.begin - begin], odd.instead]
        at = odd.end
    whole = b"".join([*parts, data[at - begin :]])
    text = np.frombuffer(whole + _PADDING, np.uint8)
    rows = int(sheets.counts[RECORDS]) + len(odds)
    again = Sheets.of(max(len(whole), 16 * rows))
    again.counts[TRUSTED] = 1
    read_records(text, (0, len(whole)), *again)
    return Piece(text, again, True)
