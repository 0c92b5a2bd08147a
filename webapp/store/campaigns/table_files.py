"""Large tables as Parquet files with row-group pruning.

Rows are sorted by vantage point. A large table with regions has a copy sorted by region, since rows
of one region are spread over all row groups.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# A page reads one group of rows or two: larger ones take longer, smaller ones compress badly.
GROUP_ROWS = 4_096
# The same for tables of hundreds of thousands of rows, with many groups to search.
LARGE_ROWS, LARGE_GROUP_ROWS = 200_000, 16_384
_COPIES = "by-region"


def write(path: Path, table: pa.Table) -> None:
    """Write a table that is sorted by vantage point, with its copy if it is large."""
    is_large = table.num_rows > LARGE_ROWS
    size = LARGE_GROUP_ROWS if is_large else GROUP_ROWS
    pq.write_table(table, path, compression="zstd", write_page_checksum=True, row_group_size=size)
    if is_large and "region" in table.column_names:
        path.with_name(_COPIES).mkdir(exist_ok=True)
        # The order within a region stays.
        order = pc.sort_indices(table["region"].combine_chunks())
        copy = path.with_name(_COPIES) / path.name
        pq.write_table(
            table.take(order),
            copy,
            compression="zstd",
            write_page_checksum=True,
            row_group_size=size,
        )


def read_rows(
    path: Path, columns: Sequence[str] | None, wanted: Mapping[str, Sequence[Any]]
) -> pa.Table:
    """Read rows with one of the wanted values in each column; all rows without a filter."""
    copy = path.with_name(_COPIES) / path.name
    if "region" in wanted and "vantage" not in wanted and copy.is_file():
        path = copy
    with pq.ParquetFile(path) as file:
        names = list(columns or file.schema_arrow.names)
        groups = [g for g in range(file.num_row_groups) if _may_hold(file.metadata, g, wanted)]
        read = list(dict.fromkeys([*names, *wanted]))
        found = file.read_row_groups(groups, columns=read, use_threads=False)
    for column, values in wanted.items():
        known = pa.array(values, found.schema.field(column).type)
        found = found.filter(pc.is_in(found[column], known))
    return found.select(names)


def _may_hold(about: Any, group: int, wanted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a row group may hold wanted values, by its min/max statistics."""
    own = about.row_group(group)
    for column, values in wanted.items():
        statistics = own.column(about.schema.names.index(column)).statistics
        if (
            statistics
            and statistics.has_min_max
            and not any(statistics.min <= v <= statistics.max for v in values)
        ):
            return False
    return True
