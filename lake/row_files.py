"""Files from which rows are read by their number: Arrow record batches, or Parquet.

A Parquet file costs the time of each column chunk, some 50 us of CPU for each of dozens of
columns. A record batch is read by one call and decompressed by LZ4, which costs a twentieth. The
file has the Arrow IPC file format, which other programs read, too; the place and checksum of each
batch are in an array beside it. Rows are read instead of mapped, so that the memory of a process
does not grow with the pages that it has shown.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lake.open_files import OpenFiles
from lake.sorted_parts import damage_of

Row = dict[str, Any]
SUFFIX, PLACES_SUFFIX = ".arrow", ".places.npy"


class RowFile(Protocol):
    """Rows in a fixed order; threads may share it."""

    n_rows: int

    def rows(self, first: int, count: int, columns: Sequence[str] | None = None) -> list[Row]:
        """``count`` rows from ``first`` on, fewer at the end; raises ``Damaged``."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One whole column."""


class ParquetRows:
    """A Parquet file from which rows are taken by their number."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path, page_checksum_verification=True)
        self._lock = Lock()  # one reader of a file at a time
        meta = self._file.metadata
        sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        self._starts = list(accumulate(sizes, initial=0))
        self.n_rows: int = self._starts[-1]

    def rows(self, first: int, count: int, columns: Sequence[str] | None = None) -> list[Row]:
        """``count`` rows from ``first`` on, fewer at the end."""
        last = min(first + count, self.n_rows)
        if first >= last:
            return []
        low, high = bisect_right(self._starts, first) - 1, bisect_right(self._starts, last - 1)
        groups, wanted = list(range(low, high)), list(columns) if columns else None
        with self._lock:
            table = self._file.read_row_groups(groups, columns=wanted, use_threads=False)
        rows: list[Row] = table.slice(first - self._starts[low], last - first).to_pylist()
        return rows

    def column(self, name: str) -> pa.ChunkedArray:
        """One whole column."""
        with self._lock:
            return self._file.read([name], use_threads=False)[name]


class ArrowRows:
    """A file of ``write_rows``; raises ``OSError`` where one of its two files is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb", buffering=0)
        # First row, first octet, octets and CRC-32 of each batch.
        places = np.load(_places_of(path)).tolist()
        self._places: list[tuple[int, int, int]] = [(at, n, crc) for _, at, n, crc in places]
        with pa.ipc.open_file(pa.OSFile(str(path))) as file:
            self._schema = file.schema
        self._starts = [first for first, *_ in places]
        self.n_rows: int = self._starts.pop()

    def rows(self, first: int, count: int, columns: Sequence[str] | None = None) -> list[Row]:
        """``count`` rows from ``first`` on, fewer at the end; raises ``Damaged``."""
        last = min(first + count, self.n_rows)
        found: list[Row] = []
        while first < last:
            number = bisect_right(self._starts, first) - 1
            batch = self._read(number).slice(first - self._starts[number], last - first)
            found += (batch.select(list(columns)) if columns else batch).to_pylist()
            first += len(batch)
        return found

    def column(self, name: str) -> pa.ChunkedArray:
        """One whole column."""
        # Copies: a column of a batch would keep the octets of the whole batch.
        batches = (
            pa.concat_arrays([self._read(number)[name]]) for number in range(len(self._starts))
        )
        return pa.chunked_array(batches, self._schema.field(name).type)

    def _read(self, number: int) -> pa.RecordBatch:
        at, size, checksum = self._places[number]
        found = os.pread(self._file.fileno(), size, at)
        if crc32(found) != checksum:
            raise damage_of(self._path, ValueError(f"checksum of batch {number}"))
        return pa.ipc.read_record_batch(pa.py_buffer(found), self._schema)


def write_rows(path: Path, table: pa.Table, batch_rows: int) -> None:
    """Write a file for ``ArrowRows``, with the place of each batch of ``batch_rows`` beside it."""
    firsts, bounds = [0], []
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        # The schema is written with the first batch, so that the first has no rows.
        writer.write_batch(pa.RecordBatch.from_pylist([], table.schema))
        bounds.append(sink.tell())
        for batch in table.to_batches(max_chunksize=batch_rows):
            writer.write_batch(batch)
            bounds.append(sink.tell())
            firsts.append(firsts[-1] + len(batch))
    rows = []
    with path.open("rb") as file:
        for first, (begin, end) in zip(firsts, pairwise(bounds), strict=False):
            checksum = crc32(os.pread(file.fileno(), end - begin, begin))
            rows.append((first, begin, end - begin, checksum))
    np.save(_places_of(path), np.array([*rows, (firsts[-1], 0, 0, 0)], np.int64))


def open_rows(folder: Path, name: str) -> RowFile:
    """Return the open file of this name; indexes of older versions have Parquet files."""
    path = folder / f"{name}{SUFFIX}"
    return _files.get(path if path.exists() else folder / f"{name}.parquet")


def _open(path: Path) -> RowFile:
    return ArrowRows(path) if path.suffix == SUFFIX else ParquetRows(path)


_files = OpenFiles(_open, 256)


def open_dataset(paths: Sequence[Path]) -> Any:
    """All rows of files of one format and schema, as DuckDB reads them; at least one path."""
    kind = "ipc" if paths[0].suffix == SUFFIX else "parquet"
    # It loads pandas, for which only workers may wait, that index or compare surveys.
    import pyarrow.dataset as ds  # noqa: PLC0415

    return ds.dataset([str(path) for path in paths], format=kind)


def paths_of(folder: Path, name: str) -> list[Path]:
    """The files with names that begin so, in their order."""
    return sorted(folder.glob(f"{name}*{SUFFIX}")) or sorted(folder.glob(f"{name}*.parquet"))


def _places_of(path: Path) -> Path:
    return path.with_suffix(PLACES_SUFFIX)
