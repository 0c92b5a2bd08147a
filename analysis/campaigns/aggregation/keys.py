"""Integer codes of the keys of samples: vantage point, place, round and end.

A place is (provider, region, zone), an end is (probe, status).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.campaigns.aggregation import key_kernels as kernels
from analysis.campaigns.importers.csv_columns import Codes, Vocabulary
from core.errors import BadInput

PLACE = ("provider", "region", "zone")
END = ("probe", "status")
COLUMNS = ("vantage", *PLACE, "round", *END)
# Counts of eight bytes that are held at once.
MAX_COUNTS = 100_000_000
# Combinations for which a dense table is kept; beyond that, known combinations are searched.
MAX_TABLE_SIZE = 50_000_000
Cells = NDArray[np.int64]


class Combination:
    """Codes of combinations of columns with few distinct texts, in order of first occurrence."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._words = tuple(Vocabulary() for _ in columns)
        self._shape = (1,) * len(columns)
        self._numbers = np.full(1, -1, np.int32)
        self._known: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self._known)

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the code of each row's combination, (n_rows,) int64."""
        looks = [w.lookup(batch.column(c)) for w, c in zip(self._words, self._columns, strict=True)]
        self._fit()
        cells = np.zeros(batch.num_rows, np.int64)
        for (table, indices), size in zip(looks, self._shape, strict=True):
            if size > 1:
                kernels.add_digit(cells, table, indices, size)
        if not len(self._numbers):
            return self._encode_sparse(cells)
        found = np.empty(min(len(cells), len(self._numbers)), np.int64)
        number = kernels.number_cells(cells, self._numbers, len(self._known), found)
        self._known += self._split(found[: number - len(self._known)])
        return cells

    def names(self) -> list[tuple[str, ...]]:
        """Return all combinations as texts."""
        words = [w.values for w in self._words]
        return [
            tuple(str(w[i] or "") for w, i in zip(words, own, strict=True)) for own in self._known
        ]

    def _split(self, cells: Cells) -> list[tuple[int, ...]]:
        own = np.unravel_index(cells, self._shape)
        return [tuple(int(i) for i in row) for row in zip(*own, strict=True)]

    def _encode_sparse(self, cells: Cells) -> Cells:
        """Return the codes where a dense table of all combinations would be too large."""
        distinct, inverse = np.unique(cells, return_inverse=True)
        known = {own: number for number, own in enumerate(self._known)}
        numbers = [known.setdefault(own, len(known)) for own in self._split(distinct)]
        self._known = list(known)
        found: Cells = np.array(numbers, np.int64)[inverse]
        return found

    def _fit(self) -> None:
        """Resize the dense table to all combinations, up to ``MAX_TABLE_SIZE``."""
        shape = tuple(max(len(w), 1) for w in self._words)
        if shape != self._shape:
            self._shape = shape
            size = int(np.prod(shape, dtype=np.float64))
            self._numbers = np.full(size if size <= MAX_TABLE_SIZE else 0, -1, np.int32)
            if self._known and len(self._numbers):
                old = np.ravel_multi_index(tuple(np.array(self._known).T), shape)
                self._numbers[old] = np.arange(len(self._known))


@dataclass
class Keys:
    """Codes of the keys of rows; they grow while files are read."""

    vantages: Vocabulary = field(default_factory=Vocabulary)
    places: Combination = field(default_factory=lambda: Combination(PLACE))
    rounds: Vocabulary = field(default_factory=Vocabulary)
    ends: Combination = field(default_factory=lambda: Combination(END))

    def encode(self, batch: pa.RecordBatch) -> tuple[Codes, Cells, Codes, Cells]:
        """Return the codes of vantage point, place, round and end of each row."""
        return (
            self.vantages.encode(batch.column("vantage")),
            self.places.encode(batch),
            self.rounds.encode(batch.column("round")),
            self.ends.encode(batch),
        )

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The number of distinct vantage points, places, rounds and ends."""
        return len(self.vantages), len(self.places), len(self.rounds), len(self.ends)


class GrowableCounts:
    """An int64 array of counts that grows with its keys."""

    def __init__(self, dimensions: int) -> None:
        self.values: NDArray[np.int64] = np.zeros((1,) * dimensions, np.int64)

    def fit(self, *sizes: int) -> NDArray[np.int64]:
        """Return the counts, at least of shape ``sizes``; raise ``BadInput`` if too many."""
        have = self.values.shape
        if any(s > h for s, h in zip(sizes, have, strict=True)):
            if np.prod(sizes, dtype=np.float64) > MAX_COUNTS:
                shape = " x ".join(map(str, sizes[:-1]))
                raise BadInput(f"{shape} pairs are too many for the tables of one campaign")
            # Spare capacity avoids one copy per late name.
            grown = [
                s + s // 4 if s > h > 1 else max(s, h) for s, h in zip(sizes, have, strict=True)
            ]
            larger = np.zeros(grown, np.int64)
            larger[tuple(slice(h) for h in have)] = self.values
            self.values = larger
        return self.values


def texts_of(numbers: Any, words: Any) -> pa.Array:
    """Decode numbers to texts, as an Arrow array."""
    return pa.array(words, pa.string()).take(pa.array(numbers))
