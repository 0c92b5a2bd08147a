"""Parse small uploaded CSV files into validated rows with line numbers."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.errors import BadInput

# A cell longer than this is not a name and no number.
MAX_LETTERS = 300


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a brought table."""

    table: str
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """Return a cell, empty where the table has none."""
        return self.cells.get(column, "")

    def need(self, column: str) -> str:
        """Return a cell that must not be empty; raise BadInput."""
        found = self.text(column)
        if not found:
            raise BadInput(f"{self.table}: {column} is empty", line=self.line)
        return found

    def number(
        self, column: str, low: float = 0.0, high: float = math.inf, *, whole: bool = False
    ) -> float | None:
        """Return a finite number within bounds, None for an empty cell; raise BadInput."""
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError as error:
            raise self._bad(column, f"{text!r} is not a number") from error
        if not math.isfinite(value) or not low <= value <= high:
            edge = f"from {low:g} up" if math.isinf(high) else f"between {low:g} and {high:g}"
            raise self._bad(column, f"{text!r} is not {edge}")
        if whole and value != int(value):
            raise self._bad(column, f"{text!r} is not a whole number")
        return value

    def _bad(self, column: str, reason: str) -> BadInput:
        return BadInput(f"{self.table}: {column} {reason}", line=self.line)


def read_rows(data: bytes, table: str, needed: Sequence[str], allowed: Sequence[str]) -> list[Row]:
    """Read a CSV with a header; raise BadInput naming the table, and the line or column."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{table}: the file is not UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = [cell.strip().lower() for cell in next(reader, [])]
        _check_head(head, table, needed, allowed)
        return list(_rows(reader, head, table))
    except csv.Error as error:
        raise BadInput(f"{table}: {error}", line=reader.line_num) from error


def read_published_rows(
    stream: Iterable[str], table: str, columns: Mapping[str, Sequence[str]]
) -> Iterator[Row]:
    """Read a CSV that others published: each column by any of its names, all others ignored.

    Raise BadInput naming the table, and the line or the column that has none of its names.
    """
    reader = csv.reader(stream)
    try:
        head = [cell.strip("\ufeff ").lower() for cell in next(reader, [])]
        places = {name: _place_of(head, table, known) for name, known in columns.items()}
        least = max(places.values())
        for cells in reader:
            if len(cells) > least:
                named = {name: cells[place].strip() for name, place in places.items()}
                yield Row(table, reader.line_num, named)
            elif any(cell.strip() for cell in cells):
                reason = f"{len(cells)} cells under {len(head)} columns"
                raise BadInput(f"{table}: {reason}", line=reader.line_num)
    except UnicodeDecodeError as error:
        raise BadInput(f"{table}: the file is not UTF-8") from error
    except csv.Error as error:
        raise BadInput(f"{table}: {error}", line=reader.line_num) from error


def _place_of(head: Sequence[str], table: str, names: Sequence[str]) -> int:
    for name in names:
        if name in head:
            return head.index(name)
    raise BadInput(f"{table}: a column {' or '.join(map(repr, names))} is missing", line=1)


def _check_head(head: list[str], table: str, needed: Sequence[str], allowed: Sequence[str]) -> None:
    lacking = [name for name in needed if name not in head]
    if lacking:
        raise BadInput(f"{table}: the column {lacking[0]!r} is missing", line=1)
    strange = [name for name in head if name not in (*needed, *allowed)]
    if strange:
        known = ", ".join((*needed, *allowed))
        raise BadInput(f"{table}: unknown column {strange[0]!r}; known are {known}", line=1)
    if len(set(head)) < len(head):
        raise BadInput(f"{table}: a column occurs twice", line=1)


def _rows(reader: Iterator[list[str]], head: list[str], table: str) -> Iterator[Row]:
    for cells in reader:
        line = reader.line_num  # type: ignore[attr-defined]
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            raise BadInput(f"{table}: {len(cells)} cells under {len(head)} columns", line=line)
        if max(map(len, cells)) > MAX_LETTERS:
            raise BadInput(f"{table}: a cell is over {MAX_LETTERS} letters long", line=line)
        yield Row(table, line, dict(zip(head, (c.strip() for c in cells), strict=True)))
