"""Statistics of samples per cell, for up to hundreds of millions of samples.

A cell is a combination of key values: region and vantage for the grid, region and round for a
time series. All quantiles are exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.aggregation import kernels
from analysis.campaigns.aggregation.quantiles import describe
from analysis.campaigns.importers.csv_columns import (
    Equal,
    Source,
    Vocabulary,
    column_names,
    read_batches,
)
from core.errors import BadInput

GRID = ("region", "vantage")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
SHARES = tuple(QUANTILES.values())
# Beyond this many cells the result itself would not fit into memory.
MAX_CELLS = 200_000_000
Floats32 = NDArray[np.float32]
_NONE = np.empty(0, np.int64)


class Rows(NamedTuple):
    """A batch of samples: cell per row, end offset of its values per row, flat values, packets
    sent.

    ``cells``, ``ends``, ``sent`` are (n_rows,) int64; ``values`` (n_values,) float32.
    """

    cells: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: Floats32
    sent: NDArray[np.int64]


@dataclass
class Cells:
    """Cell numbers of combinations of key values; final once all rows were read."""

    keys: tuple[str, ...]
    words: tuple[Vocabulary, ...] = ()
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.words = tuple(Vocabulary() for _ in self.keys)
        self.shape = (1,) * len(self.keys)

    def learn(self, source: Source, equal: Equal | None) -> int:
        """Read all key values; return the number of rows."""
        rows = 0
        for batch in read_batches(source, self.keys, equal):
            rows += batch.num_rows
            for word, column in zip(self.words, batch.columns, strict=True):
                word.encode(column)
        self.fix()
        return rows

    def fix(self) -> None:
        """Set the final shape: one cell per combination of the values read."""
        self.shape = tuple(max(len(w), 1) for w in self.words)
        self._check()

    def _check(self) -> None:
        if np.prod(self.shape, dtype=np.float64) > MAX_CELLS:
            raise BadInput(f"{' x '.join(map(str, self.shape))} cells are too many; choose fewer")

    @property
    def count(self) -> int:
        return int(np.prod(self.shape))

    def number(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Return the cell of each row, (n_rows,) int64; the shape grows by an eighth for new
        values."""
        codes = [w.encode(batch.column(k)) for w, k in zip(self.words, self.keys, strict=True)]
        if any(len(w) > size for w, size in zip(self.words, self.shape, strict=True)):
            pairs = zip(self.words, self.shape, strict=True)
            self.shape = tuple(s if len(w) <= s else len(w) + len(w) // 8 for w, s in pairs)
            self._check()
        found = np.zeros(batch.num_rows, np.int64)
        for code, size in zip(codes, self.shape, strict=True):
            found *= size
            found += code
        return found

    def order(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the argsort of cells by their keys, the first key first."""
        codes = np.unravel_index(cells, self.shape)
        ranks = [np.argsort(o)[c] for o, c in zip(self.orders, codes, strict=True)]
        return np.lexsort(ranks[::-1])

    @property
    def orders(self) -> list[list[int]]:
        """For each key, the codes of its values sorted by value."""
        return [[i for i, _ in sorted(enumerate(w.values), key=_by_value)] for w in self.words]

    def columns(self, cells: NDArray[np.int64]) -> dict[str, pa.Array]:
        """Return the key columns of cells."""
        codes = np.unravel_index(cells, self.shape)
        return {
            key: pa.array(word.values).take(pa.array(code))
            for key, word, code in zip(self.keys, self.words, codes, strict=True)
        }


def summarise(
    source: Source, keys: Sequence[str] = GRID, equal: Equal | None = None, memory_mb: int = 1024
) -> pa.Table:
    """Return one row per cell: sent, lost, loss, n, mean, sd, min, quantiles, max.

    ``equal`` selects rows by column values. At most ``memory_mb`` of values are held; beyond
    that the files are read several times. Raise ``BadInput``.
    """
    cells, numbers = Cells(tuple(keys)), _CellCache(memory_mb << 20)
    counts, sent = _count(source, cells, equal, numbers).T
    used = np.flatnonzero(sent + counts)
    out = np.empty((len(used), kernels.FIXED_FIGURES + len(QUANTILES)))
    for begin, end in _spans(counts, memory_mb * (1 << 20) // 4):
        chosen = slice(*np.searchsorted(used, [begin, end]))
        values, begins = _gather(numbers.rows(source, cells, equal), counts, (begin, end))
        out[chosen] = describe(values, begins, SHARES)[used[chosen] - begin]
    table = figures_table(cells.columns(used), counts[used], sent[used], out)
    return table.take(pa.array(cells.order(used)))


def rows_of(source: Source, cells: Cells, equal: Equal | None = None) -> Iterator[Rows]:
    """Yield batches of samples with their cells."""
    for batch, rows in read_rows(source, cells.keys, equal):
        yield rows._replace(cells=cells.number(batch))


def read_rows(
    source: Source, keys: Sequence[str], equal: Equal | None = None
) -> Iterator[tuple[pa.RecordBatch, Rows]]:
    """Yield (batch with the columns ``keys``, rows without cells).

    A source has a list of values and the number sent per row, or at most one value per row.
    """
    names = column_names(source)
    extra = ["values", "sent"] if "values" in names else ["value"]
    for batch in read_batches(source, [*keys, *extra], equal):
        if "values" in names:
            column = batch.column("values")
            lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
            values = _numbers(column.flatten())
            sent = np.asarray(batch.column("sent").to_numpy(zero_copy_only=False), np.int64)
            yield batch, Rows(_NONE, np.cumsum(lengths, dtype=np.int64), values, sent)
        else:
            ends = np.arange(1, batch.num_rows + 1)
            one = np.ones(batch.num_rows, np.int64)
            yield batch, Rows(_NONE, ends, _numbers(batch.column("value")), one)


def _by_value(numbered: tuple[int, Any]) -> tuple[bool, Any]:
    """Return the sort key of a value; missing values come first."""
    value = numbered[1]
    return value is not None, "" if value is None else value


def _numbers(column: pa.Array) -> Floats32:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float32)


class _CellCache:
    """The cell of each row from the first pass, as far as memory allows."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._batches: list[tuple[tuple[int, ...], NDArray[Any]]] = []

    def append(self, shape: tuple[int, ...], cells: NDArray[np.int64]) -> None:
        """Store the cells of one batch, numbered by a shape."""
        self._left -= 4 * len(cells)
        if self._left < 0:
            self._batches = []
        else:
            # ``MAX_CELLS`` fits into 32 bits.
            self._batches.append((shape, cells.astype(np.int32)))

    def rows(self, source: Source, cells: Cells, equal: Equal | None) -> Iterator[Rows]:
        """Yield the rows again; only their values are read where the cells are stored."""
        if self._left < 0:
            yield from rows_of(source, cells, equal)
            return
        begin, chunk = 0, 0
        for _, rows in read_rows(source, (), equal):
            # Batches of fewer columns need not end where those of all columns did.
            taken, missing = [], len(rows.ends)
            while missing:
                own = self._cells(chunk, cells.shape)[begin : begin + missing]
                taken.append(own)
                missing -= len(own)
                begin += len(own)
                if begin == len(self._batches[chunk][1]):
                    begin, chunk = 0, chunk + 1
            yield rows._replace(cells=np.concatenate(taken))

    def _cells(self, chunk: int, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the cells of one batch, renumbered by the final shape."""
        before, own = self._batches[chunk]
        if before != shape:
            own = np.ravel_multi_index(np.unravel_index(own, before), shape).astype(np.int32)
            self._batches[chunk] = shape, own
        return own


def _count(
    source: Source, cells: Cells, equal: Equal | None, numbers: _CellCache
) -> NDArray[np.int64]:
    """Return values and packets sent of each cell, (n_cells, 2) int64."""
    tallies = np.zeros((0, 2), np.int64)
    before: tuple[int, ...] = (0,) * len(cells.keys)
    for rows in rows_of(source, cells, equal):
        if cells.shape != before:
            tallies, before = reshape(tallies, before, cells.shape), cells.shape
        numbers.append(cells.shape, rows.cells)
        kernels.tally(rows.cells, rows.ends, rows.values, rows.sent, tallies)
    return reshape(tallies, before, cells.shape)


def reshape(
    counts: NDArray[np.int64], before: tuple[int, ...], after: tuple[int, ...]
) -> NDArray[np.int64]:
    """Renumber (n_cells, n) int64 counts from one shape of cells to another."""
    found = np.zeros((*after, counts.shape[1]), np.int64)
    common = tuple(slice(min(a, b)) for a, b in zip(before, after, strict=True))
    found[common] = counts.reshape(*before, counts.shape[1])[common]
    return found.reshape(-1, counts.shape[1])


def _spans(counts: NDArray[np.int64], max_values: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of cells of at most ``max_values`` values; one cell at least."""
    ends = np.cumsum(counts)
    begin, before = 0, 0
    while begin < len(counts):
        end = int(np.searchsorted(ends, before + max_values, "right"))
        end = max(end, begin + 1)
        yield begin, end
        begin, before = end, int(ends[end - 1])


def _gather(
    found: Iterator[Rows], counts: NDArray[np.int64], span: tuple[int, int]
) -> tuple[Floats32, NDArray[np.int64]]:
    begins = np.zeros(span[1] - span[0] + 1, np.int64)
    np.cumsum(counts[span[0] : span[1]], out=begins[1:])
    values = np.empty(int(begins[-1]), np.float32)
    nexts = begins[:-1].copy()
    for rows in found:
        kernels.place_values(rows.cells, rows.ends, rows.values, span, nexts, values)
    return values, begins


def figures_table(
    keys: Mapping[str, Any],
    counts: NDArray[np.int64],
    sent: NDArray[np.int64],
    out: NDArray[np.float64],
) -> pa.Table:
    """Return cells with packets sent and lost, and the statistics ``out`` (n_cells, n_stats)."""
    names = ("mean", "sd", "min", *QUANTILES, "max")
    lost = sent - counts
    loss = np.divide(lost, sent, out=np.full(len(sent), np.nan), where=sent > 0)
    figures = {n: pa.array(out[:, i], from_pandas=True) for i, n in enumerate(names)}
    totals = {"sent": sent, "lost": lost, "loss": pa.array(loss, from_pandas=True), "n": counts}
    return pa.table({**keys, **totals, **figures})
