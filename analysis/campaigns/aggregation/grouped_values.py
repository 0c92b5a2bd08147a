"""Values of one metric are held by vantage point and place, with the round of each.

From what is held come the grid and all tables beside it, without reading the files again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.campaigns.aggregation import kernels, key_kernels
from analysis.campaigns.aggregation.grid import SHARES, Rows, figures_table, read_rows
from analysis.campaigns.aggregation.keys import COLUMNS, Grown, Keys, texts_of
from analysis.campaigns.aggregation.quantiles import describe
from analysis.campaigns.importers.csv_columns import Source
from analysis.optimization.model.samples import Samples

# Values that are held at once, where files are read again for some vantage points at a time:
# six octets each, and four more while rounds are told.
MOST_VALUES = 160_000_000
# Values that are kept in one piece of memory: so large that it goes back once it is given up.
BLOCK_VALUES = 1 << 23
# Keys in 32 bits where they fit.
_SHORT_BITS = 32
Integers = NDArray[np.int64]
Place = tuple[str, ...]


class Chunk(NamedTuple):
    """Values and their keys, with the bits of a place and of a round in a key."""

    keys: NDArray[Any]
    values: NDArray[np.float32]
    bits: tuple[int, int]


@dataclass
class Kept:
    """What one metric has of the rows that were read; ``chosen`` says which ends are its own."""

    chosen: NDArray[np.bool_]
    course: Grown = field(default_factory=lambda: Grown(3))
    _blocks: list[Chunk] = field(default_factory=list)
    # Values in the last block.
    _used: int = 0

    def add(self, codes: Any, rows: Rows, keys: Keys) -> int:
        """Count the rows of this metric by place and round, and keep their values; returns the
        octets that they take."""
        _, places, rounds, _ = keys.sizes
        block = self._block(len(rows.values), keys)
        out = block.keys[self._used :], block.values[self._used :]
        course = self.course.fit(places, rounds, 3)
        n = key_kernels.pack_rows(codes, tuple(rows), self.chosen, block.bits, course, out)
        self._used += n
        return int(n) * (block.keys.itemsize + block.values.itemsize)

    def take(self) -> Iterator[Chunk]:
        """All values with their keys, which are given away."""
        blocks, self._blocks = self._blocks[::-1], []
        while blocks:
            keys, values, bits = blocks.pop()
            used = len(keys) if blocks else self._used
            yield Chunk(keys[:used], values[:used], bits)

    def _block(self, values: int, keys: Keys) -> Chunk:
        """A block with room for more values, whose keys are wide enough."""
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
        room = max(values, BLOCK_VALUES)
        self._blocks.append(Chunk(np.empty(room, kind), np.empty(room, np.float32), bits))
        self._used = 0
        return self._blocks[-1]


@dataclass
class Held:
    """What was counted of a metric; ``parts`` hold the values of some vantage points each.

    Where the first reading could not keep all values (``has_values``), files are read again.
    """

    source: Source
    kept: Kept
    has_values: bool
    vantages: tuple[str, ...]
    places: list[Place]
    rounds: tuple[int, ...]
    # By vantage point and place, and by place and round: values, and what was sent.
    pairs: Integers
    course: Integers
    # Where vantage points, places and rounds stand there, by their numbers while reading.
    ranks: tuple[Integers, ...]

    @property
    def has_own_names(self) -> bool:
        """Whether each region is of one provider."""
        return len({p[:2] for p in self.places}) == len({p[1] for p in self.places})

    def parts(self) -> Iterator["Part"]:
        """Vantage points whose values fit into the room, in order; they can be had once."""
        if self.has_values:
            yield self._part(0, len(self.vantages))
            return
        ends = np.cumsum(self.pairs[:, :, 0].sum(axis=1))
        begin, before = 0, 0
        while begin < len(ends):
            end = max(int(np.searchsorted(ends, before + MOST_VALUES, "right")), begin + 1)
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
        """All values with their keys, which are given away where they were kept."""
        if self.has_values:
            yield from self.kept.take()
            return
        keys, again = Keys(), Kept(self.kept.chosen)
        for batch, rows in read_rows(self.source, COLUMNS):
            again.add(keys.encode(batch), rows, keys)
            yield from again.take()


@dataclass
class Part:
    """Values of some vantage points, by vantage point and place, and the round of each."""

    held: Held
    span: slice
    values: NDArray[np.float32]
    periods: NDArray[Any]
    begins: Integers

    @property
    def vantages(self) -> tuple[str, ...]:
        """Whose values these are."""
        return self.held.vantages[self.span]

    def grid(self) -> pa.Table:
        """The figures of each pair of a vantage point and a region; those that were tried."""
        regions, firsts = _regions(self.held.places)
        size = len(self.held.places)
        edges = np.arange(len(self.vantages))[:, None] * size + firsts
        begins = np.append(self.begins[edges.ravel()], self.begins[-1])
        amounts = np.add.reduceat(self.held.pairs[self.span], firsts, axis=1).reshape(-1, 2)
        owners = np.arange(len(self.vantages))
        keys = {
            "vantage": texts_of(np.repeat(owners, len(regions)), self.vantages),
            "region": texts_of(np.tile(np.arange(len(regions)), len(owners)), regions),
        }
        table = _figures(keys, self.values, begins, amounts)
        return table.filter(pa.array(amounts.sum(axis=1) > 0))

    def by_vantage(self) -> pa.Table:
        """The figures of each vantage point, over all regions."""
        begins = self.begins[:: len(self.held.places)]
        amounts = self.held.pairs[self.span].sum(axis=1)
        keys = {"vantage": pa.array(self.vantages, pa.string())}
        return _figures(keys, self.values, begins, amounts)

    def by_zone(self) -> pa.Table:
        """The mean of each vantage point and zone of a region that was heard."""
        zones = [p[1:3] for p in self.held.places]
        firsts = np.array([i for i, z in enumerate(zones) if i == 0 or z != zones[i - 1]])
        counts = np.add.reduceat(self.held.pairs[self.span][:, :, 0], firsts, axis=1).ravel()
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

    def means(self, most_cells: int) -> Iterator[Samples]:
        """Means by region, vantage point and round, of some vantage points at a time."""
        regions, _ = _regions(self.held.places)
        shape = len(regions), len(self.held.rounds)
        each = max(1, most_cells // max(1, shape[0] * shape[1]))
        groups = np.array([regions.index(p[1]) for p in self.held.places])
        rounds = tuple(str(r) for r in sorted(self.held.rounds))
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
        """The figures of each region and round, and of each region, if all vantage points are held;
        a region of several providers has the first's name there."""
        groups, regions = _groups(self.held.places)
        amounts = np.zeros((len(regions), len(self.held.rounds), 2), np.int64)
        np.add.at(amounts, groups, self.held.course)
        begins = np.concatenate([[0], np.cumsum(amounts[:, :, 0])])
        nexts = begins[:-1].reshape(amounts.shape[:2]).copy()
        values = np.empty(len(self.values), np.float32)
        kernels.scatter_periods(self.values, self.periods, self.begins, groups, nexts, values)
        rounds = pa.array(sorted(self.held.rounds), pa.int32())
        keys = {
            "region": texts_of(np.repeat(np.arange(len(regions)), amounts.shape[1]), regions),
            "round": rounds.take(pa.array(np.tile(np.arange(len(rounds)), len(regions)))),
        }
        flat = amounts.reshape(-1, 2)
        course = _figures(keys, values, begins, flat).filter(pa.array(flat.sum(axis=1) > 0))
        first = {p[1]: p[0] for p in reversed(self.held.places)}
        own = {"provider": pa.array([first[r] for r in regions]), "region": pa.array(regions)}
        whole = _figures(own, values, begins[:: amounts.shape[1]], amounts.sum(axis=1))
        return course, whole


def _regions(places: list[Place]) -> tuple[list[str], Integers]:
    """Regions in order, and where the places of each begin."""
    groups, regions = _groups(places)
    return regions, np.searchsorted(groups, np.arange(len(regions)))


def _groups(places: list[Place]) -> tuple[Integers, list[str]]:
    """The region of each place as a number, and the names of regions."""
    regions = sorted({p[1] for p in places})
    numbers = {name: number for number, name in enumerate(regions)}
    return np.array([numbers[p[1]] for p in places], np.int64), regions


def _figures(
    keys: dict[str, Any], values: NDArray[np.float32], begins: Integers, amounts: Integers
) -> pa.Table:
    out = describe(values, begins, SHARES)
    return figures_table(keys, amounts[:, 0].copy(), amounts[:, 1].copy(), out)
