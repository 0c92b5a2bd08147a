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
from crawlers.files.columns import ENCODED, SCHEMA, encode_choices, tabulate
from crawlers.files.line_columns import Integers, WaitingLines

_ROWS_PER_GROUP = 1 << 15
# Lines become columns so many at a time, as long as they are in the cache of the processor.
_ROWS_PER_TURN = 1 << 12
_ROWS_PER_PART = 1 << 20
# So many others are inserted between lines without sorting, which means to copy all.
_MOST_SLICES = 256
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
        # What is not written yet, what is next in order of that, the number of the question behind,
        # and how many rows have to wait before it is worth to look for those that are next.
        self._results: list[Result] = []
        self._chosen: list[Result] = []
        self._lines = WaitingLines(types_per_name)
        self._next_tag = (self._last_id + 1) * types_per_name
        self._due_at = self._rows_per_turn
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

    @property
    def _rows_per_turn(self) -> int:
        return min(_ROWS_PER_TURN, _ROWS_PER_GROUP)

    def _write_if_full(self) -> None:
        rows = len(self._results) + len(self._lines)
        if rows >= self._due_at or self._lines.octets >= _MOST_OCTETS:
            self._collect_ready(rows)

    def _collect_ready(self, rows: int) -> None:
        """Collect the rows that no open question precedes; half of all if too many have to wait.

        The others wait, so that answers that come a little late find their place.
        """
        others = np.array([r.question.tag for r in self._results], np.int64)
        tags = np.append(self._lines.tags(), others)
        last_tag = self._next_tag + _count_next(tags - self._next_tag) - 1
        n_ready = int(np.count_nonzero(tags <= last_tag))
        is_full = rows >= 2 * _ROWS_PER_GROUP or self._lines.octets >= _MOST_OCTETS
        if is_full and n_ready < rows // 2:
            n_ready = max(1, rows // 2)
            last_tag = int(np.partition(tags, n_ready - 1)[n_ready - 1])
        if n_ready:
            self._collect_up_to(last_tag)
        self._due_at = rows - n_ready + self._rows_per_turn

    def _collect_up_to(self, last_tag: int) -> None:
        """Collect the rows up to a number of a question; write a group where there are enough."""
        self._chosen += [r for r in self._results if r.question.tag <= last_tag]
        self._results = [r for r in self._results if r.question.tag > last_tag]
        if len(self._lines):
            self._lines.collect(last_tag)
        self._next_tag = max(self._next_tag, last_tag + 1)
        n_rows = len(self._chosen) + self._lines.n_collected
        if n_rows >= _ROWS_PER_GROUP or self._lines.octets_collected >= _MOST_OCTETS:
            self._write_collected()

    def _write_collected(self) -> None:
        others, self._chosen = self._chosen, []
        # An empty table would load pandas, which takes as long as some hundred thousand names.
        table = tabulate(others, self._types_per_name) if others else None
        if self._lines.n_collected:
            table = self._pop_lines(table, [result.question.tag for result in others])
        if table is not None:
            self._write_group(table)

    def _pop_lines(self, others: pa.Table | None, tags_of_others: list[int]) -> pa.Table:
        """The rows of the lines in order, with others between them."""
        is_sorted, tags = self._lines.is_sorted, self._lines.tags_collected()
        found = self._lines.pop()
        lines = pa.Table.from_arrays([found[name] for name in ENCODED.names], schema=ENCODED)
        if others is None:
            return lines if is_sorted else _sort(lines)
        places = np.searchsorted(tags, sorted(tags_of_others))
        if is_sorted and len(np.unique(places)) <= _MOST_SLICES:
            return _insert(lines, others, places)
        return _sort(pa.concat_tables([lines, others]))

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
            self._collect_up_to(max([*waiting, *(r.question.tag for r in self._results)]))
        self._write_collected()
        if not self._parts and self._writer is None:
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


def _count_next(numbers: Integers) -> int:
    """How many of the numbers 0, 1, 2 and so on are there, up to the first that is absent."""
    is_there = np.zeros(len(numbers) + 1, np.bool_)
    is_there[numbers[(numbers >= 0) & (numbers < len(numbers))]] = True
    return int(is_there.argmin())


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
            writer.write_table(encode_choices(_sort(rows)))


def _open_writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        ENCODED,
        # Readers find the columns of SCHEMA.
        store_schema=False,
        compression="zstd",
        use_dictionary=_WITH_DICTIONARY,
        write_statistics=_WITH_STATISTICS,
    )


def _insert(rows: pa.Table, others: pa.Table, places: Integers) -> pa.Table:
    """Rows with others, which are in order too, before the rows at these places."""
    parts, at, number = [], 0, 0
    for place, count in zip(*np.unique(places, return_counts=True), strict=True):
        parts += [rows.slice(at, place - at), others.slice(number, count)]
        at, number = int(place), number + int(count)
    return pa.concat_tables([*parts, rows.slice(at)])


def _sort(rows: pa.Table) -> pa.Table:
    # Loading it takes as long as tens of thousands of rows, and most runs need no sorting.
    import pyarrow.compute as pc  # noqa: PLC0415

    # Columns with dictionaries cannot be sorted by.
    keys = pa.table([rows["name_id"], rows["type"].cast(pa.string())], ["name_id", "type"])
    return rows.take(pc.sort_indices(keys, [("name_id", "ascending"), ("type", "ascending")]))
