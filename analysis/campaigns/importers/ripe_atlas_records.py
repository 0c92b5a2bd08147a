"""Records of RIPE Atlas results from files of JSON lines or arrays, plain or packed by gzip.

What cannot be read is counted by its reason, and what follows it is read on. A record that is valid
but not of the types that the fields have is written again without what is wrong in it.
"""

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.errors import BadInput, reason_of
from core.files import GZIP_MAGIC, DamagedStream, inflate

# Bytes that are looked at together.
PIECE_BYTES = 16 << 20
# The longest real results have some hundred kilobytes; what is longer is none.
MAX_RECORD_BYTES = 4 << 20
_READ_BYTES = 1 << 20
# Integer fields with their least and greatest values; a moment lies before the year 10,000.
_INTEGERS = {
    "prb_id": (-(1 << 40), 1 << 40),
    "timestamp": (0, 253_402_300_799),
    "paris_id": (-(1 << 31), (1 << 31) - 1),
    "sent": (-(1 << 31), (1 << 31) - 1),
    "hop": (0, 255),
    "late": (-(1 << 31) + 1, (1 << 31) - 1),
}
_TEXTS = ("type", "dst_addr", "dst_name", "src_addr", "from", "proto")
# What DuckDB would read as another value than a strict reader, or not at all: values of other
# types, integers near their bounds, escapes, "NaN" and its kind, commas before a bracket.
_IRREGULAR = "|".join(
    [
        r"^[^{]",
        r"\\",
        r'"(from|type|proto|dst_addr|dst_name|src_addr)"\s*:\s*[^"\s]',
        r'"(rtt|hop|prb_id|timestamp|paris_id|sent|late)"\s*:\s*[^-0-9\s]',
        r'"(hop|prb_id|timestamp|paris_id|sent|late)"\s*:\s*-?[0-9]+[.eE]',
        r'"(prb_id|timestamp)"\s*:\s*(-|[0-9]{12})',
        r'"(paris_id|sent|late)"\s*:\s*-?[0-9]{10}',
        r'"dup"\s*:\s*([^01tf\s]|[01][^,}\s])',
        r'"error"\s*:\s*n',
        r"(?i:\b(nan|inf|infinity)\b)",
        r",\s*[\]}]",
    ]
)
_REPLY = {"from": "VARCHAR", "rtt": "FLOAT", "late": "INTEGER", "dup": "BOOLEAN"}
_ELEMENT = {
    "hop": "UTINYINT",
    "error": "VARCHAR",
    "rtt": "FLOAT",
    "dup": "BOOLEAN",
    "result": [_REPLY],
}
_RECORD = {
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    **dict.fromkeys(("prb_id", "timestamp"), "BIGINT"),
    **dict.fromkeys(("paris_id", "sent"), "INTEGER"),
    "result": [_ELEMENT],
}
_PARSE = f"""
    SELECT unnest(record), regexp_matches(text, $${_IRREGULAR}$$) OR record IS NULL AS is_irregular
    FROM (
        SELECT text, try(json_transform(text, $${json.dumps(_RECORD)}$$)) AS record FROM spans
    )"""
_SURROGATE = re.compile("[\ud800-\udfff]")
_OPEN, _NEWLINE = ord("{"), ord("\n")
# Records of a file begin alike: an object and its first key.
_BEGINNING = re.compile(rb'\{\s*"[^"]{0,20}"')
_BETWEEN = re.compile(rb"[\s,\[\]]*")
_SEPARATORS = b" \t\r\n\v\f,[]"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]"]', re.DOTALL)
# Some scripts nest the list of results in an object; no result begins with such a key.
_FRAME = re.compile(rb'\s*\{\s*"(?!result")[a-z_ ]{1,40}"\s*:\s*[\[{]', re.IGNORECASE)
_MAX_FRAMED_BYTES = 1 << 29


def _open_database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


@dataclass
class RecordReader:
    """Reads files of records; ``lost`` counts what could not be read, by its reason."""

    piece_bytes: int = PIECE_BYTES
    lost: Counter[str] = field(default_factory=Counter)
    _database: duckdb.DuckDBPyConnection = field(default_factory=_open_database)
    _broken_until: int = -1

    def read(self, path: Path) -> Iterator[pa.Table]:
        """Yield a file's records as rows, piece by piece; raise ``BadInput``."""
        rest = b""
        for chunk, following in pairwise(chain(self._chunks(path), [None])):
            rows, rest = self._cut(rest + (chunk or b""), is_last=following is None)
            yield rows

    def _chunks(self, path: Path) -> Iterator[bytes]:
        held, size = list[bytes](), 0
        for data in self._plain(path):
            held.append(data)
            size += len(data)
            if size >= self.piece_bytes:
                yield b"".join(held)
                held, size = [], 0
        yield b"".join(held)

    def _plain(self, path: Path) -> Iterator[bytes]:
        try:
            with path.open("rb") as stream:
                is_packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
                stream.seek(0)
                data = iter(lambda: stream.read(_READ_BYTES), b"")
                yield from _unframe(self._inflate(data) if is_packed else data)
        except OSError as error:
            raise BadInput(f"the results cannot be read: {reason_of(error)}") from error

    def _inflate(self, packed: Iterator[bytes]) -> Iterator[bytes]:
        """What gzip packed, as far as it is sound."""
        try:
            yield from inflate(packed)
        except DamagedStream:
            self.lost["damaged"] += 1

    def _cut(self, data: bytes, *, is_last: bool) -> tuple[pa.Table, bytes]:
        """Parse all records of the data; also return what continues behind its end."""
        self._broken_until, held = -1, b""
        starts = _find_starts(data)
        # The last record is cut off as a rule; what is not valid costs much more time.
        if not is_last and len(starts) > 1:
            data, held = data[: starts[-1]], data[starts.pop() :]
        spans = self._parse_spans(data, starts)
        parts, first, rest = list[pa.Table](), 0, b""
        for odd in spans.irregular:
            if odd < first:
                continue
            parts.append(spans.rows.slice(first, odd - first))
            texts, at = self._read_strictly(data, spans, int(spans.starts[odd]), is_last)
            parts.append(self._parse(texts))
            first = int(np.searchsorted(spans.starts, at))
            if at not in spans.sound:
                first, rest = len(spans.starts), data[at:]
                break
        parts.append(spans.rows.slice(first))
        return pa.concat_tables(
            part for part in parts if len(part) or part is parts[-1]
        ), rest + held

    def _parse(self, texts: Sequence[bytes]) -> pa.Table:
        """Read the fields of records; what is missing or of another type is null."""
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        buffers = pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))
        column = pa.StringArray.from_buffers(len(texts), *buffers)
        self._database.register("spans", pa.table({"text": column}))
        return self._database.sql(_PARSE).to_arrow_table()

    def _parse_spans(self, data: bytes, starts: list[int]) -> "_Spans":
        """Parse data cut where records seem to begin; find the stretches that are not one."""
        texts = [data[a:b].strip(_SEPARATORS) for a, b in pairwise([*starts, len(data)])]
        if not texts[0]:
            del starts[0], texts[0]
        if not _is_utf8(data):
            texts = [text if _is_utf8(text) else b"?" for text in texts]
        rows = self._parse(texts)
        odd = np.flatnonzero(rows["is_irregular"].to_numpy()).tolist()
        sound = dict(zip(starts, texts, strict=True)) if odd else {}
        for number in odd:
            del sound[starts[number]]
        lines = [
            at
            for at, text in sound.items()
            if b'"prb_id"' in text and (at == 0 or data[at - 1] == _NEWLINE)
        ]
        places = np.array(starts, np.int64)
        return _Spans(places, rows, odd, frozenset(sound), np.array(lines, np.int64))

    def _read_strictly(
        self, data: bytes, spans: "_Spans", at: int, is_last: bool
    ) -> tuple[list[bytes], int]:
        """Read records one by one until a span that is sound; also return where that is.

        The place is that of a span that is not sound where more data is needed.
        """
        texts = list[bytes]()
        while True:
            at = _skip_between(data, at)
            if at == len(data) or at in spans.sound:
                return texts, at
            limit = spans.limit(at, len(data))
            end = _end_object(data, at, limit) if data[at] == _OPEN else at
            if end < 0 and not is_last and limit == len(data):
                return texts, at
            text = _clean(data[at:end]) if end > at else None
            if text is None:
                end = self._lose(data, at, end)
            else:
                texts.append(text)
            at = end

    def _lose(self, data: bytes, at: int, end: int) -> int:
        """Count something broken; return where records may continue behind it."""
        after = _find_next(data, at, end)
        # What lies between two records is lost once, in however many pieces.
        if data[at] == _OPEN or self._broken_until != at:
            self.lost["cut" if end < 0 else "not_json"] += 1
        self._broken_until = after
        return after


@dataclass(frozen=True)
class _Spans:
    """Stretches of the data that are one record each, or odd: what a strict reader has to see."""

    starts: NDArray[np.int64]
    rows: pa.Table
    irregular: list[int]
    sound: frozenset[int]
    # Where a line begins that is a whole result; no record continues behind it.
    lines: NDArray[np.int64]

    def limit(self, at: int, size: int) -> int:
        """Where a record that begins at a place has to end."""
        line = int(np.searchsorted(self.lines, at, side="right"))
        behind = int(self.lines[line]) if line < len(self.lines) else size
        return min(behind, at + MAX_RECORD_BYTES, size)


def _find_starts(data: bytes) -> list[int]:
    """Find the first place and all where a record may begin: as the first one does, or a line."""
    first = _BEGINNING.search(data, 0, 1 << 16)
    places = {0, *(at + 1 for at in _find_all(data, b"\n{"))}
    if first:
        places.update(_find_all(data, first[0]))
    return sorted(places)


def _find_all(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _skip_between(data: bytes, at: int) -> int:
    """Where the next record may begin, behind the brackets and commas of a list of them."""
    found = _BETWEEN.match(data, at)
    return found.end() if found else at


def _end_object(data: bytes, at: int, limit: int) -> int:
    """The end of an object by its brackets; negative where it does not end before the limit."""
    depth = 0
    for token in _TOKEN.finditer(data, at, limit):
        letter = token[0]
        if letter in (b"{", b"["):
            depth += 1
        elif letter in (b"}", b"]"):
            depth -= 1
            if not depth:
                return token.end()
        elif len(letter) == 1:
            return -1
    return -1


def _find_next(data: bytes, at: int, end: int) -> int:
    """Where records may continue behind something broken."""
    if data[at] != _OPEN:
        places = [data.find(b"{", at), data.find(b"\n", at) + 1]
    else:
        beginning = _BEGINNING.match(data, at)
        alike = data.find(beginning[0], at + 1) if beginning else -1
        places = [alike, data.find(b"\n{", at) + 1, end]
    return min((place for place in places if place > at), default=len(data))


def _unframe(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes, or of an object that holds a list of results only the list."""
    first = next(pieces, b"")
    if not _FRAME.match(first):
        yield first
        yield from pieces
        return
    held = [first]
    while len(held[-1]) and sum(map(len, held)) <= _MAX_FRAMED_BYTES:
        held.append(next(pieces, b""))
    whole = b"".join(held)
    try:
        found = json.loads(whole)
        lists = [v for v in found.values() if isinstance(v, list) and v and _is_result(v[0])]
        yield json.dumps(lists[0]).encode()
    except (ValueError, RecursionError, IndexError):
        yield whole
        yield from pieces


def _is_result(found: object) -> bool:
    return isinstance(found, dict) and "prb_id" in found


def _clean(data: bytes) -> bytes | None:
    """Return a record with the fields that are valid; ``None`` for what is not a JSON object.

    A field of another type than it should have is lost, and the rest of the record stays.
    """
    try:
        found = json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    kept = _select_fields(found, (*_TEXTS, "prb_id", "timestamp", "paris_id", "sent"))
    if isinstance(found.get("result"), list):
        kept["result"] = [_clean_element(entry) for entry in found["result"]]
    return json.dumps(kept, ensure_ascii=False).encode()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _clean_element(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {}
    kept = _select_fields(entry, ("hop", "rtt", "dup"))
    if "error" in entry:
        kept["error"] = ""
    if isinstance(entry.get("result"), list):
        replies = (reply if isinstance(reply, dict) else {} for reply in entry["result"])
        kept["result"] = [
            _select_fields(reply, ("from", "rtt", "late", "dup")) for reply in replies
        ]
    return kept


def _select_fields(found: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found and _is_right(name, found[name])}


def _is_right(name: str, value: Any) -> bool:
    if name in _TEXTS:
        return isinstance(value, str) and not _SURROGATE.search(value)
    if name == "rtt":
        return type(value) in (int, float) and _fits(value)
    if name == "dup":
        # True, or a number that is not 0.
        return value is True or (type(value) is int and value != 0)
    least, greatest = _INTEGERS[name]
    return type(value) is int and least <= value <= greatest


def _fits(value: float) -> bool:
    """Whether a number is one of 32 bits."""
    try:
        return math.isfinite(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return False
