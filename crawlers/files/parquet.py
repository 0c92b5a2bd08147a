"""Results of the bulk resolver as one Parquet file, sorted by the number of the name.

Results come nearly in order. They are written in parts, each as sorted as it can be; a run that
ends with one sorted part renames it, any other merges its parts by ranges of numbers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.files import replace_file
from crawlers.engine.config import Lines, Result
from crawlers.files.columns import SCHEMA, tabulate
from crawlers.files.line_columns import WaitingLines

_ROWS_PER_GROUP = 1 << 15
_ROWS_PER_PART = 1 << 20
# Text of lines that may wait: long answers fill memory sooner than many.
_MOST_OCTETS = 1 << 27
# Columns of few values have dictionaries. Names and addresses hardly repeat: theirs would take more
# processor time than the compression, and more octets.
_WITH_DICTIONARY = [
    *("type", "status", "resolver", "protocol", "answers.list.element.type"),
    *(f"authorities.list.element.{field}" for field in ("name", "type", "data")),
]
# Those by which a reader leaves groups of rows out.
_WITH_STATISTICS = ["name_id", "name", "type", "status", "at"]


class ParquetSink:
    """The file at ``path`` appears when it is complete."""

    def __init__(self, path: Path, types_per_name: int, mark: dict[str, Any] | None = None) -> None:
        self._path = path
        self._types_per_name = types_per_name
        mark = mark or {"parts": 0, "is_sorted": True, "last_id": -1}
        self._parts: int = mark["parts"]
        self._is_sorted: bool = mark["is_sorted"]
        self._last_id: int = mark["last_id"]
        # What is not written yet, the number of the question that is next in order, and how many
        # rows have to wait before it is worth looking for a group of them.
        self._results: list[Result] = []
        self._lines = WaitingLines(types_per_name)
        self._next_tag = (self._last_id + 1) * types_per_name
        self._due_at = _ROWS_PER_GROUP
        self._rows = 0
        self._writer: pq.ParquetWriter | None = None
        for part in self._all_parts():
            if part not in self._good_parts():
                part.unlink()

    def write(self, results: Sequence[Result]) -> None:
        self._results += results
        self._write_if_full()

    def write_lines(self, lines: Lines) -> None:
        self._lines.add(lines)
        self._write_if_full()

    def _write_if_full(self) -> None:
        rows = len(self._results) + len(self._lines)
        if rows >= self._due_at or self._lines.octets >= _MOST_OCTETS:
            self._write_ready(rows)

    def _write_ready(self, rows: int) -> None:
        """Write the rows that no open question precedes; the first half if too many have to wait.

        The others wait, so that answers that come a little late find their place.
        """
        others = np.array([r.question.tag for r in self._results], np.int64)
        tags = np.sort(np.append(self._lines.tags(), others))
        n_late = int(np.searchsorted(tags, self._next_tag))
        is_next = tags[n_late:] == self._next_tag + np.arange(rows - n_late)
        n_ready = rows if is_next.all() else n_late + int(is_next.argmin())
        is_full = rows >= 2 * _ROWS_PER_GROUP or self._lines.octets >= _MOST_OCTETS
        if n_ready < _ROWS_PER_GROUP // 2 and not is_full:
            self._due_at = rows + _ROWS_PER_GROUP // 8
            return
        n_ready = max(1, n_ready, rows // 2) if is_full else n_ready
        self._write_up_to(int(tags[n_ready - 1]))
        self._due_at = max(_ROWS_PER_GROUP, rows - n_ready + _ROWS_PER_GROUP // 2)

    def _write_up_to(self, last_tag: int) -> None:
        """Write the rows of the questions up to a number."""
        chosen = [r for r in self._results if r.question.tag <= last_tag]
        self._results = [r for r in self._results if r.question.tag > last_tag]
        tables = [tabulate(chosen, self._types_per_name)] if chosen else []
        if len(self._lines):
            found = self._lines.pop(last_tag)
            arrays = [found[field.name] for field in SCHEMA]
            tables.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
        table = pa.concat_tables(tables or [SCHEMA.empty_table()])
        if len(table):
            self._write_group(_sort(table) if len(tables) > 1 else table)
        self._next_tag = max(self._next_tag, last_tag + 1)

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
        if self._results or len(self._lines):
            waiting = [int(self._lines.tags().max(initial=0))]
            self._write_up_to(max([*waiting, *(r.question.tag for r in self._results)]))
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
    # Loading it takes as long as some hundred thousand rows, and most runs end in order.
    import pyarrow.dataset as ds  # noqa: PLC0415

    source = ds.dataset([str(p) for p in parts], schema=SCHEMA)
    names_per_group = max(1, _ROWS_PER_GROUP // types_per_name)
    with _open_writer(path) as writer:
        for first in range(0, last_id + 1, names_per_group):
            number = pa.compute.field("name_id")
            rows = source.to_table(filter=(number >= first) & (number < first + names_per_group))
            writer.write_table(_sort(rows))


def _open_writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        SCHEMA,
        compression="zstd",
        use_dictionary=_WITH_DICTIONARY,
        write_statistics=_WITH_STATISTICS,
    )


def _sort(rows: pa.Table) -> pa.Table:
    return rows.sort_by([("name_id", "ascending"), ("type", "ascending")])
