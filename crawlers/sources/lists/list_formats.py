"""Formats of name lists: extract texts that should be names from blocks of lines.

Text, CSV, JSON lines and JSON arrays; a field may be named, else the usual ones are tried.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from core.errors import BadInput
from crawlers.sources.lists.json_stream import Broken, JsonStream
from crawlers.sources.lists.line_blocks import Block

FORMS = ("text", "csv", "json", "zone")
# In this order: subfinder and dnsx write host; amass, zdns, massdns and this product write name;
# crt.sh has name_value. An amass row's domain is only its zone, so it comes late.
FIELDS = (
    "name_value",
    "common_name",
    "name",
    "host",
    "hostname",
    "fqdn",
    "subdomain",
    "url",
    "domain",
    "input",
)
_CERTIFICATE_FIELDS = ("name_value", "common_name")
_DELIMITER = re.compile(rb"[,;\t]")
_ZONE_START = re.compile(
    rb"\$(ORIGIN|TTL|GENERATE)\b|\S*(\s+\d\w*)?(\s+IN)?\s+SOA\s", re.IGNORECASE
)


class Found(NamedTuple):
    """Text of one entry, perhaps a name, or the ``reason`` why it has none."""

    line: int
    text: str
    reason: str = ""


class Form(Protocol):
    """Reads the blocks of one file in their order."""

    def read(self, block: Block) -> Iterable[Found]:
        """Yield the entries of one block."""

    def finish(self) -> Iterable[Found]:
        """Yield entries that are known only at the end of the file."""


def guess_form(first: bytes) -> str:
    """The form of a list by its first lines."""
    for line in first.split(b"\n")[:50]:
        text = line.strip()
        if not text or text.startswith((b";", b"#")):
            continue
        if text[:1] in (b"{", b"["):
            return "json"
        if _ZONE_START.match(line):
            return "zone"
        cells = [_cell(c) for c in _DELIMITER.split(text)]
        return "csv" if len(cells) > 1 else "text"
    return "text"


class Text:
    """The first word of each line; ``#`` and ``;`` begin comments."""

    def read(self, block: Block) -> Iterator[Found]:
        """One entry per line that is not empty."""
        for number, raw in enumerate(block.data.split(b"\n"), block.line):
            words = raw.split(None, 1)
            if words and words[0][:1] not in (b"#", b";"):
                yield _found(number, words[0])

    def finish(self) -> Iterable[Found]:
        """Nothing is left open."""
        return ()


def _found(number: int, raw: bytes) -> Found:
    try:
        return Found(number, raw.decode("utf-8"))
    except UnicodeDecodeError:
        return Found(number, raw.decode("utf-8", "replace"), "is not UTF-8")


def _cell(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip().strip('"').lower()


class Csv:
    """Rows with a header that names the columns, or without one: the first cell with a dot."""

    def __init__(self, field: str = "") -> None:
        self._field = field.lower()
        self._column: int | None = None
        self._delimiter = ","

    def read(self, block: Block) -> Iterator[Found]:
        """One entry per row, or one with a reason."""
        for number, raw in enumerate(block.data.split(b"\n"), block.line):
            line = raw.rstrip(b"\r")
            if not line.strip() or line.startswith(b"#"):
                continue
            if self._column is None:
                self._delimiter = _most_common_delimiter(line)
            try:
                cells = self._cells(line)
            except csv.Error as error:
                shown = line[:100].decode("utf-8", "replace")
                yield Found(number, shown, f"is no CSV: {error}")
                continue
            if self._column is not None or not self._choose(cells):
                yield self._row(number, cells)

    def finish(self) -> Iterable[Found]:
        """Nothing is left open."""
        return ()

    def _row(self, number: int, cells: list[str]) -> Found:
        column = self._column or 0
        if column < len(cells):
            return Found(number, cells[column])
        return Found(number, cells[0] if cells else "", f"has no column {column + 1}")

    def _cells(self, line: bytes) -> list[str]:
        text = line.decode("utf-8", "replace")
        if '"' not in text:
            return text.split(self._delimiter)
        return next(csv.reader([text], delimiter=self._delimiter, strict=True), [])

    def _choose(self, cells: list[str]) -> bool:
        """Settle the column; whether the row was a header."""
        heads = [cell.strip().strip("\"'\ufeff").lower() for cell in cells]
        wanted = (self._field,) if self._field else FIELDS
        self._column = next((heads.index(f) for f in wanted if f in heads), None)
        if self._column is not None:
            return True
        if self._field:
            raise BadInput(f"the header has no column {self._field!r}", line=1, field="field")
        dotted = (i for i, cell in enumerate(heads) if "." in cell and not _is_number(cell))
        self._column = next(dotted, 0)
        return False


def _is_number(cell: str) -> bool:
    return cell.replace(".", "").replace(":", "").isdigit()


def _most_common_delimiter(line: bytes) -> str:
    return max((",", ";", "\t"), key=lambda d: line.count(d.encode()))


class Json:
    """JSON lines or one array; objects, or plain strings.

    Rows that report a name as not existing have the reason ``NXDOMAIN``.
    """

    def __init__(self, field: str = "") -> None:
        self._field = field
        self._stream: JsonStream | None = None
        self._is_array: bool | None = None

    def read(self, block: Block) -> Iterator[Found]:
        """Entries of each value; a broken line or value is one entry with a reason."""
        if self._is_array is None:
            self._is_array = block.data.lstrip().startswith(b"[")
        return self._read_array(block) if self._is_array else self._read_lines(block)

    def _read_lines(self, block: Block) -> Iterator[Found]:
        for number, raw in enumerate(block.data.split(b"\n"), block.line):
            if not raw.strip():
                continue
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError):
                yield Found(number, raw[:100].decode("utf-8", "replace"), "is not JSON")
                continue
            yield from self._entries(number, value)

    def _read_array(self, block: Block) -> Iterator[Found]:
        stream = self._stream = self._stream or JsonStream()
        broken = stream.broken
        try:
            for value in stream.feed(block.data):
                yield from _broken(stream, broken)
                broken = stream.broken
                yield from self._entries(stream.line, value)
        except Broken as error:
            raise BadInput(f"the list {error}") from error
        yield from _broken(stream, broken)

    def finish(self) -> Iterator[Found]:
        """Report an array that was not closed."""
        if self._stream is not None and not self._stream.is_whole:
            yield Found(self._stream.line, "", "the array is cut off")

    def _entries(self, number: int, value: Any) -> Iterator[Found]:
        if isinstance(value, str):
            return iter((Found(number, value),))
        if not isinstance(value, dict):
            return iter((Found(number, str(value)[:100], "is neither an object nor text"),))
        texts = [t for t in _texts(value, self._field) if isinstance(t, str)]
        if not texts:
            wanted = self._field or "name, host or the like"
            return iter((Found(number, ", ".join(map(str, value))[:100], f"has no {wanted}"),))
        reason = "NXDOMAIN" if _is_absent(value) else ""
        names = dict.fromkeys(n for text in texts for n in text.split("\n") if n)
        return (Found(number, name, reason) for name in names)


def _broken(stream: JsonStream, before: int) -> Iterator[Found]:
    for _ in range(stream.broken - before):
        yield Found(stream.line, "", "is broken JSON")


def _texts(row: dict[str, Any], field: str) -> Iterator[Any]:
    if field:
        value = row.get(field)
        yield from value if isinstance(value, list) else (value,)
    elif "name_value" in row:
        yield from (row.get(f) for f in _CERTIFICATE_FIELDS)
    else:
        yield next((row[f] for f in FIELDS if isinstance(row.get(f), str)), None)


def _is_absent(row: dict[str, Any]) -> bool:
    """Rows of zdns and massdns that end in NXDOMAIN would only be queried in vain again."""
    results = row.get("results")
    if isinstance(results, dict) and results:
        return all(isinstance(r, dict) and r.get("status") == "NXDOMAIN" for r in results.values())
    return row.get("status") == "NXDOMAIN"
