"""Results of the bulk resolver as one Parquet file, sorted by the number of the name.

Results come nearly in order. They are written in parts, each as sorted as it can be; a run that
ends with one sorted part renames it, any other merges its parts by ranges of numbers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from core.files import replace_file
from crawlers.engine.config import Lines, Result
from crawlers.files.columns import SCHEMA, tabulate, tabulate_lines

_ROWS_PER_GROUP = 1 << 15
_ROWS_PER_PART = 1 << 20
# Columns of few values have dictionaries. Names and addresses hardly repeat: theirs would take more
# processor time than the compression, and more octets.
_WITH_DICTIONARY = [
    *("type", "status", "resolver", "protocol", "answers.list.element.type"),
    *(f"authorities.list.element.{field}" for field in ("name", "type", "data")),
]


class ParquetSink:
    """The file at ``path`` appears when it is complete."""

    def __init__(self, path: Path, types_per_name: int, mark: dict[str, Any] | None = None) -> None:
        self._path = path
        self._types_per_name = types_per_name
        mark = mark or {"parts": 0, "is_sorted": True, "last_id": -1}
        self._parts: int = mark["parts"]
        self._is_sorted: bool = mark["is_sorted"]
        self._last_id: int = mark["last_id"]
        # What is not written yet: results, lines, and both as tables.
        self._results: list[Result] = []
        self._lines: list[Lines] = []
        self._n_lines = 0
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._writer: pq.ParquetWriter | None = None
        for part in self._all_parts():
            if part not in self._good_parts():
                part.unlink()

    def write(self, results: Sequence[Result]) -> None:
        self._results += results
        self._write_if_full()

    def write_lines(self, lines: Lines) -> None:
        self._lines.append(Lines(bytes(lines.text), lines.numbers))
        self._n_lines += lines.n_lines
        self._write_if_full()

    def _write_if_full(self) -> None:
        rows = len(self._results) + self._n_lines + sum(map(len, self._tables))
        if rows >= 2 * _ROWS_PER_GROUP:
            # The later half waits, so that answers that come a little late find their place.
            table = self._waiting()
            self._write_group(table[:_ROWS_PER_GROUP])
            self._tables = [table[_ROWS_PER_GROUP:]]

    def _waiting(self) -> pa.Table:
        """All that is not written yet, in the order of the list."""
        tables, self._tables = self._tables, []
        if self._results:
            tables.append(tabulate(self._results, self._types_per_name))
        if self._lines:
            text, numbers = (b"".join(part) for part in zip(*self._lines, strict=True))
            tables.append(tabulate_lines(Lines(text, numbers), self._types_per_name))
        self._results, self._lines, self._n_lines = [], [], 0
        return _sort(pa.concat_tables(tables or [SCHEMA.empty_table()]))

    def is_due(self, now: float) -> bool:
        return self._rows >= _ROWS_PER_PART

    def mark(self, now: float) -> dict[str, Any]:
        self._close_part()
        return {"parts": self._parts, "is_sorted": self._is_sorted, "last_id": self._last_id}

    def finish(self) -> None:
        self._close_part()
        parts = self._good_parts()
        if len(parts) == 1 and self._is_sorted:
            parts[0].replace(self._path)
            return
        with replace_file(self._path) as merged:
            _merge(parts, merged, self._last_id, self._types_per_name)
        for part in parts:
            part.unlink()

    def _write_group(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = _open_writer(self._part(self._parts))
        self._writer.write_table(table)
        self._rows += len(table)
        first, last = table["name_id"][0].as_py(), table["name_id"][-1].as_py()
        self._is_sorted &= first >= self._last_id
        self._last_id = max(self._last_id, last)

    def _close_part(self) -> None:
        rest = self._waiting()
        if len(rest):
            self._write_group(rest)
        elif not self._parts and self._writer is None:
            self._writer = _open_writer(self._part(self._parts))
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._parts += 1
            self._rows = 0

    def _part(self, number: int) -> Path:
        return self._path.with_name(f".{self._path.name}.{number:06d}.part")

    def _good_parts(self) -> list[Path]:
        return [self._part(number) for number in range(self._parts)]

    def _all_parts(self) -> list[Path]:
        return list(self._path.parent.glob(f".{self._path.name}.*.part"))


def _merge(parts: Sequence[Path], path: Path, last_id: int, types_per_name: int) -> None:
    """Write all rows in order; only the row groups that hold a range of numbers are read for it."""
    source = ds.dataset([str(p) for p in parts], schema=SCHEMA)
    names_per_group = max(1, _ROWS_PER_GROUP // types_per_name)
    with _open_writer(path) as writer:
        for first in range(0, last_id + 1, names_per_group):
            number = pa.compute.field("name_id")
            rows = source.to_table(filter=(number >= first) & (number < first + names_per_group))
            writer.write_table(_sort(rows))


def _open_writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=_WITH_DICTIONARY)


def _sort(rows: pa.Table) -> pa.Table:
    return rows.sort_by([("name_id", "ascending"), ("type", "ascending")])
