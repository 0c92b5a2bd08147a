"""Read samples from Parquet: the columns round, client, region and value of the CSV.

A table of 500 regions and 100,000 clients is 50 million rows: names are read as codes of a
dictionary, and each group of rows is scattered into the array as it is read.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.optimization.model.samples import Samples, client_weights
from core.errors import BadInput
from core.jit import compile_loop

PARQUET_MAGIC = b"PAR1"
NAMES = ("region", "client", "round")
VALUE = "value"
# What the compiled loop found wrong with a row.
IS_NO_VALUE, IS_REPEATED = 1, 2


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet does."""
    with path.open("rb") as stream:
        return stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def read_parquet(path: Path, weights: dict[str, float] | None, most_cells: int) -> Samples:
    """Read round, client, region, value; raise BadInput naming the row or column.

    A missing value is null or not a number. ``round`` may be text or whole numbers.
    """
    try:
        _check_columns(path, pq.read_schema(path))
        with pq.ParquetFile(path, read_dictionary=list(NAMES)) as file:
            return _read(path, file, weights, most_cells)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path.name}: this Parquet file cannot be read: {error}") from error


def _check_columns(path: Path, schema: Any) -> None:
    needed = f"the columns are {', '.join(('round', 'client', 'region', VALUE))}"
    for name in (*NAMES, VALUE):
        if name not in schema.names:
            raise BadInput(f"{path.name}: the column {name!r} is missing; {needed}")
    kind, types = schema.field(VALUE).type, pa.types
    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    if not any(test(kind) for test in tests):
        raise BadInput(f"{path.name}: the column {VALUE!r} holds {kind}, not numbers")


def _read(path: Path, file: Any, weights: dict[str, float] | None, most_cells: int) -> Samples:
    if not file.metadata.num_rows:
        raise BadInput(f"{path.name} holds no samples")
    if file.metadata.num_rows > most_cells:
        rows = f"{file.metadata.num_rows:,} rows"
        raise BadInput(f"{path.name}: {rows}; at most {most_cells:,} are read")
    codes, names = zip(*(_read_names(path, file, name) for name in NAMES), strict=True)
    shape = tuple(len(each) for each in names)
    if (cells := math.prod(shape)) > most_cells:
        sizes = "{} regions, {} clients and {} rounds".format(*shape)
        raise BadInput(f"{sizes} are {cells:,} cells; at most {most_cells:,} are read")
    values = _scatter(path, file, codes, shape)
    return Samples(names[0], names[1], names[2], values, client_weights(names[1], weights))


def _read_names(path: Path, file: Any, column: str) -> tuple[list[Any], tuple[str, ...]]:
    """Return the codes of a column per group of rows, and the names that they number."""
    # Groups of rows one by one: all at once costs three times as much.
    groups = range(file.num_row_groups)
    parts = [file.read_row_group(group, columns=[column])[column] for group in groups]
    found = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
    if not pa.types.is_dictionary(found.type):
        found = pc.dictionary_encode(pc.cast(found, pa.string()))
    first = found.chunk(0).dictionary
    if not all(chunk.dictionary.equals(first) for chunk in found.chunks):
        found = found.unify_dictionaries()
    if found.null_count:
        raise BadInput(f"{path.name}: a {column} is empty", line=_first(pc.is_null(found)))
    names = tuple(pc.cast(found.chunk(0).dictionary, pa.string()).to_pylist())
    if "" in names and column != "round":
        raise BadInput(f"{path.name}: a {column} is empty")
    return [chunk.indices.to_numpy(zero_copy_only=False) for chunk in found.chunks], names


def _first(mask: Any) -> int:
    """Return the number, from 1, of the first row that a mask marks."""
    return int(pc.index(mask, pa.scalar(value=True)).as_py()) + 1


def _scatter(
    path: Path, file: Any, codes: tuple[list[Any], ...], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    values = np.full(math.prod(shape), np.nan)
    seen = np.zeros(values.size, bool)
    streams = [_Stream(chunks) for chunks in codes]
    begin = 0
    for batch in file.iter_batches(batch_size=2**20, columns=[VALUE]):
        given = pc.cast(batch.column(0), pa.float64()).to_numpy(zero_copy_only=False)
        regions, clients, rounds = (stream.read(given.size) for stream in streams)
        row, fault = scatter_values(
            values, seen, (regions, clients, rounds), (shape[1], shape[2]), given
        )
        if fault:
            raise BadInput(f"{path.name}: {_describe(fault, given[row])}", line=begin + row + 1)
        begin += given.size
    return values.reshape(shape)


def _describe(fault: int, value: float) -> str:
    if fault == IS_REPEATED:
        return "a second value for the same round, client and region"
    return f"the value {value:g} is not finite" if value > 0 else f"the value {value:g} is below 0"


class _Stream:
    """Chunks of codes, taken in pieces of any length."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks, self.begin = list(reversed(chunks)), 0

    def read(self, count: int) -> NDArray[np.int32]:
        """Return the next ``count`` codes."""
        parts, left = [], count
        while left:
            chunk = self.chunks[-1]
            part = chunk[self.begin : self.begin + left]
            parts.append(part)
            left -= part.size
            self.begin += part.size
            if self.begin == chunk.size:
                self.chunks.pop()
                self.begin = 0
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.ascontiguousarray(whole, np.int32)


@compile_loop
def scatter_values(
    values: NDArray[np.float64],
    seen: NDArray[np.bool_],
    codes: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    shape: tuple[int, int],
    given: NDArray[np.float64],
) -> tuple[int, int]:
    """Write values to their cells; return (row, fault) of the first faulty row, or fault 0."""
    regions, clients, rounds = codes
    for i in range(given.size):
        value = given[i]
        if value < 0 or value == np.inf:
            return i, IS_NO_VALUE
        place = (np.int64(regions[i]) * shape[0] + clients[i]) * shape[1] + rounds[i]
        if seen[place]:
            return i, IS_REPEATED
        seen[place] = True
        values[place] = value
    return 0, 0
