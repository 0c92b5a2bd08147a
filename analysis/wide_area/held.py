"""Samples of one metric go in once; they are held by vantage point and place, with their rounds.

From what is held come the grid and all tables beside it, without reading the files again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.regions.samples import Samples
from analysis.wide_area import kernels
from analysis.wide_area.columns import Equal, Source, Vocabulary
from analysis.wide_area.describing import describe
from analysis.wide_area.grid import SHARES, Rows, figures_table, read_rows
from core.errors import BadInput

# Values that are held at once: six octets each, and four more while rounds are told.
MOST_VALUES = 160_000_000
_PLACE = ("provider", "region", "zone")
_KEYS = ("vantage", *_PLACE, "round")
Integers = NDArray[np.int64]
Place = tuple[str, str, str]


class _Places:
    """Numbers for combinations of provider, region and zone, in the order in which they came."""

    def __init__(self) -> None:
        self._words = tuple(Vocabulary() for _ in _PLACE)
        self._shape: tuple[int, ...] = (1, 1, 1)
        self._numbers = np.full(1, -1, np.int64)
        self.known: list[tuple[int, ...]] = []

    def encode(self, batch: pa.RecordBatch) -> Integers:
        codes = [w.encode(batch.column(k)) for w, k in zip(self._words, _PLACE, strict=True)]
        shape = tuple(max(len(w), 1) for w in self._words)
        if shape != self._shape:
            self._shape = shape
            self._numbers = np.full(int(np.prod(shape)), -1, np.int64)
            if self.known:
                old = np.ravel_multi_index(list(np.array(self.known).T), shape)
                self._numbers[old] = np.arange(len(self.known))
        flat = (codes[0].astype(np.int64) * shape[1] + codes[1]) * shape[2] + codes[2]
        seen = np.flatnonzero(np.bincount(flat, minlength=len(self._numbers)))
        for new in seen[self._numbers[seen] < 0]:
            self._numbers[new] = len(self.known)
            self.known.append(tuple(int(i) for i in np.unravel_index(new, shape)))
        numbers: Integers = self._numbers[flat]
        return numbers

    def names(self) -> list[Place]:
        words = [w.values for w in self._words]
        told = [[w[i] or "" for w, i in zip(words, own, strict=True)] for own in self.known]
        return [(one, two, three) for one, two, three in told]


@dataclass
class _Keys:
    """Numbers of the keys of rows; what was seen grows while files are read."""

    vantages: Vocabulary = field(default_factory=Vocabulary)
    places: _Places = field(default_factory=_Places)
    rounds: Vocabulary = field(default_factory=Vocabulary)

    def encode(self, batch: pa.RecordBatch) -> tuple[Integers, Integers, Integers]:
        return (
            self.vantages.encode(batch.column("vantage")).astype(np.int64),
            self.places.encode(batch),
            self.rounds.encode(batch.column("round")).astype(np.int64),
        )

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.vantages), len(self.places.known), len(self.rounds)


class _Tally:
    """Values, and what was sent, by two keys of which more may come."""

    def __init__(self) -> None:
        self.amounts: Integers = np.zeros((1, 1, 2), np.int64)

    def add(self, codes: tuple[Integers, Integers], sizes: tuple[int, int], rows: Rows) -> None:
        have = self.amounts.shape
        if sizes[0] > have[0] or sizes[1] > have[1]:
            # Room to spare, so that a name that comes late costs no copy each.
            grown = [s + s // 4 if s > h else h for s, h in zip(sizes, have[:2], strict=True)]
            larger = np.zeros((*grown, 2), np.int64)
            larger[: have[0], : have[1]] = self.amounts
            self.amounts = larger
        cells = codes[0] * self.amounts.shape[1] + codes[1]
        flat = self.amounts.reshape(-1, 2)
        kernels.tally(cells, rows.ends, rows.values, rows.sent, flat)


@dataclass
class Held:
    """What was counted of all samples; ``parts`` hold the values of some vantage points each."""

    source: Source
    equal: Equal
    vantages: tuple[str, ...]
    places: list[Place]
    rounds: tuple[int, ...]
    # By vantage point and place, and by place and round: values, and what was sent.
    pairs: Integers
    course: Integers
    # Where a vantage point and a place stand there, by their numbers while reading.
    ranks: tuple[Integers, Integers]

    @property
    def has_own_names(self) -> bool:
        """Whether each region is of one provider."""
        return len({p[:2] for p in self.places}) == len({p[1] for p in self.places})

    def parts(self, most_values: int = MOST_VALUES) -> Iterator["Part"]:
        """Vantage points whose values fit into the room, in order."""
        ends = np.cumsum(self.pairs[:, :, 0].sum(axis=1))
        begin, before = 0, 0
        while begin < len(ends):
            end = max(int(np.searchsorted(ends, before + most_values, "right")), begin + 1)
            yield self._part(begin, end)
            begin, before = end, int(ends[end - 1])

    def _part(self, begin: int, end: int) -> "Part":
        counts = self.pairs[begin:end, :, 0].ravel()
        begins = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=begins[1:])
        kind = np.uint16 if len(self.rounds) < 1 << 16 else np.uint32
        values = np.empty(int(begins[-1]), np.float32)
        periods = np.empty(len(values), kind)
        nexts, size = begins[:-1].copy(), len(self.places)
        order = np.argsort(np.argsort(self.rounds, kind="stable"), kind="stable").astype(kind)
        keys = _Keys()
        for batch, rows in read_rows(self.source, _KEYS, self.equal):
            vantage, place, period = keys.encode(batch)
            kernels.place_periods(
                self.ranks[0][vantage] * size + self.ranks[1][place], order[period], rows,
                (begin * size, end * size), nexts, (values, periods),
            )  # fmt: skip
        return Part(self, slice(begin, end), values, periods, begins)


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
            "vantage": _coded(np.repeat(owners, len(regions)), self.vantages),
            "region": _coded(np.tile(np.arange(len(regions)), len(owners)), regions),
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
        totals = np.add.reduceat(self.values, begins, dtype=np.float64) if len(used) else 0.0
        return pa.table({
            "region": _coded(zone, [zones[i][0] for i in firsts]),
            "zone": _coded(zone, [zones[i][1] for i in firsts]),
            "vantage": _coded(vantage, self.vantages),
            "mean": totals / counts[used],
        })  # fmt: skip

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
            "region": _coded(np.repeat(np.arange(len(regions)), amounts.shape[1]), regions),
            "round": rounds.take(pa.array(np.tile(np.arange(len(rounds)), len(regions)))),
        }
        flat = amounts.reshape(-1, 2)
        course = _figures(keys, values, begins, flat).filter(pa.array(flat.sum(axis=1) > 0))
        first = {p[1]: p[0] for p in reversed(self.held.places)}
        own = {"provider": pa.array([first[r] for r in regions]), "region": pa.array(regions)}
        whole = _figures(own, values, begins[:: amounts.shape[1]], amounts.sum(axis=1))
        return course, whole


def hold(source: Source, equal: Equal) -> Held:
    """Count all samples; raises ``BadInput`` where there are none."""
    keys, pairs, course = _Keys(), _Tally(), _Tally()
    for batch, rows in read_rows(source, _KEYS, equal):
        vantage, place, period = keys.encode(batch)
        sizes = keys.sizes
        pairs.add((vantage, place), sizes[:2], rows)
        course.add((place, period), sizes[1:], rows)
    sizes = keys.sizes
    if not sizes[0]:
        raise BadInput("there are no such samples")
    named = keys.places.names()
    order = sorted(range(len(named)), key=lambda i: (named[i][1], named[i][2], named[i][0]))
    names = [str(v) for v in keys.vantages.values]
    owners = sorted(range(len(names)), key=names.__getitem__)
    rounds = np.argsort(keys.rounds.values, kind="stable")
    return Held(
        source, equal, tuple(names[i] for i in owners), [named[i] for i in order],
        keys.rounds.values, pairs.amounts[owners][:, order], course.amounts[order][:, rounds],
        (np.argsort(owners), np.argsort(order)),
    )  # fmt: skip


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


def _coded(codes: Integers, names: Any) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(codes))
