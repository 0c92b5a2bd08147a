"""Stream the distinct rows of a long Parquet file, batch by batch.

A row is identified by a 128-bit hash under a key that each process draws at random: two rows
collide with a probability below 1e-20, and an adversary cannot construct a collision.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lake.mixing import find_new, mix_coded, mix_numbers, mix_texts, move_keys

# Rows at a time: more cost memory, fewer cost a tenth more time.
_BATCH_ROWS = 1 << 18
_FIRST_SLOTS = 1 << 20
# 512 MiB of keys; a file with more distinct rows than half of these is handed on as it is.
MAX_SLOTS = 1 << 25
# A column of a few values takes less than this per row; with more of them, carrying the values from
# batch to batch costs more than it saves.
_CODE_BYTES = 1
# Follows the empty value that represents a missing one; no text is that long.
_MISSING = np.int64(-(1 << 62))
Keys = NDArray[np.uint64]


class RowSet:
    """A set of rows as keys of 128 bits."""

    def __init__(self, max_slots: int = MAX_SLOTS) -> None:
        self._seed = np.frombuffer(secrets.token_bytes(16), np.uint64)
        self._slots = np.zeros((_FIRST_SLOTS, 2), np.uint64)
        self._max_slots = max_slots
        self.count = 0
        self.is_full = False

    def filter_new(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that no batch had before; all of them once the set is full."""
        if not self._reserve(len(batch)):
            return batch
        keys = np.empty((len(batch), 2), np.uint64)
        keys[:] = self._seed
        for column in batch.columns:
            _mix(column, keys)
        fresh = np.zeros(len(batch), np.bool_)
        self.count += find_new(keys, self._slots, fresh)
        return batch.filter(pa.array(fresh))

    def _reserve(self, n_rows: int) -> bool:
        while 2 * (self.count + n_rows) > len(self._slots) and not self.is_full:
            if 2 * len(self._slots) > self._max_slots:
                self.is_full = True
                self._slots = np.zeros((0, 2), np.uint64)
                break
            larger = np.zeros((2 * len(self._slots), 2), np.uint64)
            move_keys(self._slots, larger)
            self._slots = larger
        return not self.is_full


def _mix(column: pa.Array, keys: Keys) -> None:
    missing = column.is_null() if column.null_count else None
    if pa.types.is_integer(column.type):
        mix_numbers(column.cast(pa.int64()).fill_null(0).to_numpy(), keys)
    elif pa.types.is_dictionary(column.type) and not column.dictionary.null_count:
        _mix_coded(column, keys)
    else:
        _mix_texts(column.cast(pa.string()).fill_null(""), keys)
    if missing is not None:
        rows = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
        own = keys[rows]
        mix_numbers(np.full(len(rows), _MISSING), own)
        keys[rows] = own


def _mix_texts(column: pa.Array, keys: Keys) -> None:
    mix_texts(*_texts(column), keys)


def _mix_coded(column: pa.DictionaryArray, keys: Keys) -> None:
    """As ``_mix_texts``; a missing value is read as an empty text there, and here too."""
    texts = pa.concat_arrays([column.dictionary.cast(pa.string()), pa.array([""])])
    codes = column.indices.cast(pa.int32()).fill_null(len(texts) - 1)
    mix_coded(codes.to_numpy(), *_texts(texts), keys)


def _texts(column: pa.StringArray) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each text begins, and the last one ends, in the column's bytes."""
    _, offsets, text = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return bounds, np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)


def distinct_rows(path: Path, columns: Sequence[str], seen: RowSet) -> pa.RecordBatchReader:
    """The rows of some columns that are new to ``seen``, as a stream."""
    file = pq.ParquetFile(path, memory_map=True)
    schema = pa.schema([file.schema_arrow.field(name) for name in columns])
    few = [name for name in columns if _is_coded(file.metadata, schema.field(name))]
    file = pq.ParquetFile(path, memory_map=True, read_dictionary=few)
    # Threads cost three times as much here as they save time.
    batches = file.iter_batches(_BATCH_ROWS, columns=list(columns), use_threads=False)
    return pa.RecordBatchReader.from_batches(schema, _new_batches(batches, schema, seen))


def _is_coded(meta: pq.FileMetaData, field: pa.Field) -> bool:
    """Whether a text column has so few values that the file itself holds numbers for them."""
    place = meta.schema.names.index(field.name)
    chunks = [meta.row_group(group).column(place) for group in range(meta.num_row_groups)]
    n_bytes = sum(chunk.total_uncompressed_size for chunk in chunks)
    return bool(pa.types.is_string(field.type) and n_bytes <= _CODE_BYTES * meta.num_rows)


def _new_batches(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, seen: RowSet
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = seen.filter_new(batch.select(schema.names))
        if len(found):
            yield found.cast(schema)
