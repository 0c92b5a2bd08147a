"""Read columns of large result files by batch and dictionary-encode them across files."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.errors import BadInput

# Rows that are held at once; more are no faster.
BATCH_ROWS = 1 << 19
Codes = NDArray[np.int32]
# A row filter: one value of a column, or one of several.
Equal = dict[str, str | int | tuple[str, ...]]


class Vocabulary:
    """Codes of the distinct values of one column, in order of first occurrence."""

    def __init__(self) -> None:
        self._known = pa.nulls(0)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(self._known.to_pylist())

    def encode(self, column: pa.Array) -> Codes:
        """Return the codes of a column, (n,) int32; null has a code too."""
        table, indices = self.lookup(column)
        codes: Codes = table[indices]
        return codes

    def lookup(self, column: pa.Array) -> tuple[Codes, Codes]:
        """Return (codes of the dictionary, index of each row into them), int32 each."""
        if not isinstance(column, pa.DictionaryArray):
            column = pc.dictionary_encode(column, null_encoding="encode")
        words, indices = column.dictionary, column.indices
        if indices.null_count:
            indices = pc.fill_null(indices, len(words))
            words = pa.concat_arrays([words, pa.nulls(1, words.type)])
        places = indices.to_numpy(zero_copy_only=False)
        return self._number(words), places.astype(np.int32, copy=False)

    def _number(self, words: pa.Array) -> Codes:
        if not len(self._known):
            self._known = words.slice(0, 0)
        found = pc.index_in(words, self._known)
        if found.null_count:
            new = words.filter(pc.is_null(found)).unique()
            self._known = pa.concat_arrays([self._known, new.cast(self._known.type)])
            found = pc.index_in(words, self._known)
        numbers: Codes = found.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return numbers


Source: TypeAlias = Any  # An Arrow table, or a sequence of paths of Parquet files.


def read_batches(
    source: Source, columns: Sequence[str], equal: Equal | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns of a table or of Parquet files, filtered by ``equal``.

    Raise ``BadInput`` naming a missing column.
    """
    wanted = list(dict.fromkeys([*columns, *(equal or {})]))
    for batch in _batches(source, wanted):
        kept = _filter(batch, equal or {})
        if kept.num_rows:
            yield kept.select(list(columns))


def column_names(source: Source) -> list[str]:
    """Return the column names; raise ``BadInput`` without a file."""
    if isinstance(source, pa.Table):
        return list(source.column_names)
    if not source:
        raise BadInput("there are no results")
    return list(pq.read_schema(source[0]).names)


def _batches(source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
    lacking = [c for c in columns if c not in column_names(source)]
    if lacking:
        raise BadInput(f"the results have no column {lacking[0]!r}", field=lacking[0])
    if isinstance(source, pa.Table):
        yield from source.select(columns).to_batches(BATCH_ROWS)
        return
    for path in source:
        with pq.ParquetFile(path, read_dictionary=_text_columns(path, columns)) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)


def _text_columns(path: Path, columns: Iterable[str]) -> list[str]:
    """Return the text columns, which are read dictionary-encoded as stored in the file."""
    wanted = set(columns)
    schema = pq.read_schema(path)
    plain = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    return [f.name for f in schema if f.name in wanted and any(is_a(f.type) for is_a in plain)]


def _filter(batch: pa.RecordBatch, equal: Equal) -> pa.RecordBatch:
    for column, value in equal.items():
        if isinstance(value, tuple):
            batch = _filter_in(batch, column, value)
        else:
            batch = batch.filter(pc.equal(batch.column(column), value))
    return batch


def _filter_in(batch: pa.RecordBatch, column: str, values: tuple[str, ...]) -> pa.RecordBatch:
    """Keep rows with one of the values; the dictionary of the column is reduced to them."""
    coded = batch.column(column)
    if not isinstance(coded, pa.DictionaryArray):
        coded = coded.dictionary_encode()
    words = pa.array(values, pa.string())
    known = pc.is_in(coded.dictionary.cast(pa.string()), words)
    if not coded.indices.null_count and pc.all(known).as_py():
        return batch
    numbers = pc.index_in(coded.dictionary.cast(pa.string()), words).take(coded.indices)
    kept = pc.is_valid(numbers)
    found = batch.filter(kept)
    own = pa.DictionaryArray.from_arrays(numbers.filter(kept), words)
    return found.set_column(batch.schema.get_field_index(column), column, own)
