"""Values of one metric grouped by vantage point and place, with the round of each.

The grid and the other tables of a metric are computed from them without reading the files again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.campaigns.aggregation import kernels, key_kernels
from analysis.campaigns.aggregation.grid import SHARES, Rows, figures_table, read_rows
from analysis.campaigns.aggregation.keys import COLUMNS, GrowableCounts, Keys, texts_of
from analysis.campaigns.aggregation.quantiles import describe
from analysis.campaigns.importers.csv_columns import Source
from analysis.optimization.model.samples import Samples

# Values grouped at once where files are read again for some vantage points at a time: six bytes
# each, and four more while the table by round is computed.
MAX_VALUES = 160_000_000
# Values of one block: so large that the allocator returns it to the system when freed.
BLOCK_VALUES = 1 << 23
# Keys in 32 bits where they fit.
_SHORT_BITS = 32
Integers = NDArray[np.int64]
Place = tuple[str, ...]


class Chunk(NamedTuple):
    """Values (n,) float32 and packed keys (n,) uint32 or int64.

    A key is vantage point, place and round; ``bits`` are the widths of place and round.
    """

    keys: NDArray[Any]
    values: NDArray[np.float32]
    bits: tuple[int, int]


@dataclass
class MetricBuffer:
    """Buffered values of one metric; ``chosen`` (n_ends,) bool selects the ends of the metric."""

    chosen: NDArray[np.bool_]
    course: GrowableCounts = field(default_factory=lambda: GrowableCounts(3))
    _blocks: list[Chunk] = field(default_factory=list)
    # Values in the last block.
    _used: int = 0

    def add(self, codes: Any, rows: Rows, keys: Keys) -> int:
        """Count the rows of this metric by place and round and buffer their values; return the
        bytes used."""
        _, places, rounds, _ = keys.sizes
        block = self._block(len(rows.values), keys)
        out = block.keys[self._used :], block.values[self._used :]
        course = self.course.fit(places, rounds, 3)
        n = key_kernels.pack_rows(codes, tuple(rows), self.chosen, block.bits, course, out)
        self._used += n
        return int(n) * (block.keys.itemsize + block.values.itemsize)

    def drain(self) -> Iterator[Chunk]:
        """Yield all values with their keys and release them."""
        blocks, self._blocks = self._blocks[::-1], []
        while blocks:
            keys, values, bits = blocks.pop()
            used = len(keys) if blocks else self._used
            yield Chunk(keys[:used], values[:used], bits)

    def _block(self, values: int, keys: Keys) -> Chunk:
        """Return a block with capacity for ``values`` more values and wide enough keys."""
        _, places, rounds, _ = keys.sizes
        bits = places.bit_length(), rounds.bit_length()
        last = self._blocks[-1] if self._blocks else None
        is_short = sum(bits) + len(keys.vantages).bit_length() <= _SHORT_BITS
        kind = np.dtype(np.uint32 if is_short else np.int64)
        left = len(last.keys) - self._used if last else -1
        if last and left >= values and last.bits == bits and last.keys.dtype == kind:
            return last
        if last:
            self._blocks[-1] = Chunk(last.keys[: self._used], last.values[: self._used], last.bits)
        capacity = max(values, BLOCK_VALUES)
        self._blocks.append(Chunk(np.empty(capacity, kind), np.empty(capacity, np.float32), bits))
        self._used = 0
        return self._blocks[-1]


@dataclass
class GroupedValues:
    """Counts and values of a metric; ``parts`` yields the values of some vantage points each.

    ``has_values`` is false where the first pass exceeded the buffer: files are read again.
    """

    source: Source
    buffer: MetricBuffer
    has_values: bool
    vantages: tuple[str, ...]
    places: list[Place]
    rounds: tuple[int, ...]
    # (n_vantages, n_places, 2) and (n_places, n_rounds, 2): values and packets sent.
    pairs: Integers
    course: Integers
    # Positions of vantage points, places and rounds there, by their codes in the first pass.
    ranks: tuple[Integers, ...]

    @property
    def has_unique_regions(self) -> bool:
        """Return whether each region name belongs to one provider."""
        return len({p[:2] for p in self.places}) == len({p[1] for p in self.places})

    def parts(self) -> Iterator["Part"]:
        """Yield parts of at most ``MAX_VALUES`` values in order of vantage points; only once."""
        if self.has_values:
            yield self._part(0, len(self.vantages))
            return
        ends = np.cumsum(self.pairs[:, :, 0].sum(axis=1))
        begin, before = 0, 0
        while begin < len(ends):
            end = max(int(np.searchsorted(ends, before + MAX_VALUES, "right")), begin + 1)
            yield self._part(begin, end)
            begin, before = end, int(ends[end - 1])

    def _part(self, begin: int, end: int) -> "Part":
        counts = self.pairs[begin:end, :, 0].ravel()
        begins = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=begins[1:])
        values = np.empty(int(begins[-1]), np.float32)
        periods = np.empty(len(values), np.uint16 if len(self.rounds) < 1 << 16 else np.uint32)
        nexts, span = begins[:-1].copy(), (begin, end, len(self.places))
        for chunk in self._chunks():
            key_kernels.place_values(tuple(chunk), self.ranks, span, nexts, (values, periods))
        return Part(self, slice(begin, end), values, periods, begins)

    def _chunks(self) -> Iterator[Chunk]:
        """Yield all values with their keys, from the buffer or by reading the files again."""
        if self.has_values:
            yield from self.buffer.drain()
            return
        keys, again = Keys(), MetricBuffer(self.buffer.chosen)
        for batch, rows in read_rows(self.source, COLUMNS):
            again.add(keys.encode(batch), rows, keys)
            yield from again.drain()


@dataclass
class Part:
    """Values of some vantage points, sorted by vantage point and place, and the round of each.

    ``begins`` (n_vantages × n_places + 1,) int64 are the offsets of the runs in ``values``.
    """

    grouped: GroupedValues
    span: slice
    values: NDArray[np.float32]
    periods: NDArray[Any]
    begins: Integers

    @property
    def vantages(self) -> tuple[str, ...]:
        """The vantage points of this part."""
        return self.grouped.vantages[self.span]

    def grid(self) -> pa.Table:
        """Return the statistics of each measured pair of vantage point and region."""
        regions, firsts = _regions(self.grouped.places)
        size = len(self.grouped.places)
        edges = np.arange(len(self.vantages))[:, None] * size + firsts
        begins = np.append(self.begins[edges.ravel()], self.begins[-1])
        counts = np.add.reduceat(self.grouped.pairs[self.span], firsts, axis=1).reshape(-1, 2)
        owners = np.arange(len(self.vantages))
        keys = {
            "vantage": texts_of(np.repeat(owners, len(regions)), self.vantages),
            "region": texts_of(np.tile(np.arange(len(regions)), len(owners)), regions),
        }
        table = _figures(keys, self.values, begins, counts)
        return table.filter(pa.array(counts.sum(axis=1) > 0))

    def by_vantage(self) -> pa.Table:
        """Return the statistics of each vantage point over all regions."""
        begins = self.begins[:: len(self.grouped.places)]
        counts = self.grouped.pairs[self.span].sum(axis=1)
        keys = {"vantage": pa.array(self.vantages, pa.string())}
        return _figures(keys, self.values, begins, counts)

    def by_zone(self) -> pa.Table:
        """Return the mean of each vantage point and zone with values."""
        zones = [p[1:3] for p in self.grouped.places]
        firsts = np.array([i for i, z in enumerate(zones) if i == 0 or z != zones[i - 1]])
        counts = np.add.reduceat(self.grouped.pairs[self.span][:, :, 0], firsts, axis=1).ravel()
        used = np.flatnonzero(counts)
        vantage, zone = np.divmod(used, len(firsts))
        begins = self.begins[vantage * len(zones) + firsts[zone]]
        totals = np.empty(len(used))
        key_kernels.add_runs(self.values, begins, begins + counts[used], totals)
        return pa.table(
            {
                "region": texts_of(zone, [zones[i][0] for i in firsts]),
                "zone": texts_of(zone, [zones[i][1] for i in firsts]),
                "vantage": texts_of(vantage, self.vantages),
                "mean": totals / counts[used],
            }
        )

    def means(self, max_cells: int) -> Iterator[Samples]:
        """Yield means (n_regions, n_vantages, n_rounds) float64 of some vantage points at a
        time."""
        regions, _ = _regions(self.grouped.places)
        shape = len(regions), len(self.grouped.rounds)
        each = max(1, max_cells // max(1, shape[0] * shape[1]))
        groups = np.array([regions.index(p[1]) for p in self.grouped.places])
        rounds = tuple(str(r) for r in sorted(self.grouped.rounds))
        for begin in range(0, len(self.vantages), each):
            names = self.vantages[begin : begin + each]
            totals = np.zeros((len(names), *shape))
            counts = np.zeros(totals.shape, np.uint32)
            kernels.average_periods(
                self.values, self.periods, self.begins, (begin, groups), totals, counts
            )
            with np.errstate(invalid="ignore"):
                values = np.moveaxis(totals / counts, 0, 1)
            yield Samples(tuple(regions), names, rounds, values)

    def across(self) -> tuple[pa.Table, pa.Table]:
        """Return the statistics of each region and round, and of each region.

        Only for a part with all vantage points; a region name of several providers is listed
        under the first.
        """
        groups, regions = _groups(self.grouped.places)
        counts = np.zeros((len(regions), len(self.grouped.rounds), 2), np.int64)
        np.add.at(counts, groups, self.grouped.course)
        begins = np.concatenate([[0], np.cumsum(counts[:, :, 0])])
        nexts = begins[:-1].reshape(counts.shape[:2]).copy()
        values = np.empty(len(self.values), np.float32)
        kernels.scatter_periods(self.values, self.periods, self.begins, groups, nexts, values)
        rounds = pa.array(sorted(self.grouped.rounds), pa.int32())
        keys = {
            "region": texts_of(np.repeat(np.arange(len(regions)), counts.shape[1]), regions),
            "round": rounds.take(pa.array(np.tile(np.arange(len(rounds)), len(regions)))),
        }
        flat = counts.reshape(-1, 2)
        course = _figures(keys, values, begins, flat).filter(pa.array(flat.sum(axis=1) > 0))
        first = {p[1]: p[0] for p in reversed(self.grouped.places)}
        region_keys = {
            "provider": pa.array([first[r] for r in regions]),
            "region": pa.array(regions),
        }
        whole = _figures(region_keys, values, begins[:: counts.shape[1]], counts.sum(axis=1))
        return course, whole


def _regions(places: list[Place]) -> tuple[list[str], Integers]:
    """Return sorted regions and the first place of each."""
    groups, regions = _groups(places)
    return regions, np.searchsorted(groups, np.arange(len(regions)))


def _groups(places: list[Place]) -> tuple[Integers, list[str]]:
    """Return the region number of each place, (n_places,) int64, and the sorted regions."""
    regions = sorted({p[1] for p in places})
    numbers = {name: number for number, name in enumerate(regions)}
    return np.array([numbers[p[1]] for p in places], np.int64), regions


def _figures(
    keys: dict[str, Any], values: NDArray[np.float32], begins: Integers, counts: Integers
) -> pa.Table:
    out = describe(values, begins, SHARES)
    return figures_table(keys, counts[:, 0].copy(), counts[:, 1].copy(), out)
