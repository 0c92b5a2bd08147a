"""Parts in the order of a key, with small groups of rows: a page reads the groups of its key only.

A part is an ordinary Parquet file, and its metadata name the columns that it is sorted by. Parts
of older versions are in the order of arrival, with one group; nothing of them can be left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import Damaged
from lake.open_files import OpenFiles

# Columns by which the parts of a table are sorted.
SORT_KEYS = {
    "lookups": ("domain", "name"),
    "placements": ("domain", "name"),
    "fronts": ("domain", "name"),
    "zones": ("address",),
}
# Wanted values by column.
Keys = Mapping[str, Sequence[str]]
# Small groups are read fast, and too small ones compress badly.
GROUP_ROWS = 2_048


def write_sorted(table: str, rows: pa.Table, path: Path) -> None:
    """Write a part in the order of its table's key, or as it is where there is none."""
    keys = SORT_KEYS.get(table, ())
    order = [(key, "ascending") for key in keys]
    pq.write_table(
        rows.sort_by(order) if order else rows,
        path,
        compression="zstd",
        write_page_checksum=True,
        row_group_size=GROUP_ROWS if order else None,
        sorting_columns=pq.SortingColumn.from_ordering(rows.schema, order) if order else None,
    )


class SortedPart:
    """An open part from which the rows of some keys are read; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path, page_checksum_verification=True)
        self._lock = Lock()  # one reader of a file at a time
        self._groups = _bounds_of(self._file)
        self._names = self._file.schema_arrow.names

    @property
    def is_sorted(self) -> bool:
        """Whether groups without a wanted key can be left out."""
        return self._groups is not None

    def rows(self, keys: Keys) -> pa.Table:
        """The rows with one of the values of each column of ``keys``, which the part is sorted by.

        Raises ``OSError`` or ``pyarrow.ArrowException`` where a page is damaged.
        """
        groups = [
            number
            for number, bounds in enumerate(self._groups or ())
            if all(_may_hold(bounds.get(column), keys[column]) for column in keys)
        ]
        with self._lock:
            named = self._file.read_row_groups(groups, columns=list(keys), use_threads=False)
            is_wanted = reduce(pc.and_, (_is_in(named[key], keys[key]) for key in keys))
            if not pc.any(is_wanted).as_py():
                return self._file.schema_arrow.empty_table()
            others = [name for name in self._names if name not in keys]
            found = self._file.read_row_groups(groups, columns=others, use_threads=False)
        for key in keys:
            found = found.append_column(key, named[key])
        return found.select(self._names).filter(is_wanted)


def _is_in(column: pa.ChunkedArray, values: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(column, pa.array(values, pa.string()))


def _may_hold(bounds: tuple[str, str] | None, values: Iterable[str]) -> bool:
    # A group without bounds is empty, or its values are too long to be bounds.
    return bounds is None or any(bounds[0] <= value <= bounds[1] for value in values)


def _bounds_of(file: pq.ParquetFile) -> list[dict[str, tuple[str, str]]] | None:
    """The least and greatest value of each key by group; ``None`` unless the file is sorted."""
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    found = []
    for group in groups:
        if not group.sorting_columns:
            return None
        columns = (group.column(key.column_index) for key in group.sorting_columns)
        known = ((c.path_in_schema, c.statistics) for c in columns if c.is_stats_set)
        found.append({name: (s.min, s.max) for name, s in known if s.has_min_max})
    return found


def rows_of_keys(paths: Iterable[Path], keys: Keys) -> pa.Table | None:
    """The rows of some keys in parts; ``None`` where there is no part, or one is not sorted.

    A part stays open for later pages until it is replaced. Raises ``Damaged`` naming the part.
    """
    found = []
    for path in paths:
        try:
            part = _parts.get(path)
            if not part.is_sorted:
                return None
            found.append(part.rows(keys))
        except (OSError, pa.ArrowException) as error:
            raise damage_of(path, error) from error
    return pa.concat_tables(found) if found else None


# The parts of one large survey.
_parts = OpenFiles(SortedPart, 256)


def damage_of(path: Path, error: Exception) -> Damaged:
    """Return the error of a part that cannot be read."""
    return Damaged(f"the stored file {'/'.join(path.parts[-3:])} is damaged: {error}")
