"""Samples go in once; runs by vantage point, place and end come out, and each metric's values."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.aggregation import key_kernels
from analysis.campaigns.aggregation.grid import read_rows
from analysis.campaigns.aggregation.grouped_values import Held, Integers, Kept, Place
from analysis.campaigns.aggregation.keys import COLUMNS, Grown, Keys
from analysis.campaigns.importers.csv_columns import Source

# Octets of values and their keys that are kept from the first reading; of more, files are read
# again for some vantage points at a time.
MOST_KEPT = 900 << 20


class Counted(NamedTuple):
    """What was counted of all samples: runs by vantage point, place and end, and each metric."""

    vantages: list[str]
    places: list[Place]
    ends: list[Place]
    runs: Integers
    metrics: dict[str, "Held"]


class _Reading:
    """One reading of all samples, whose ends say which metric they are of."""

    def __init__(self, metrics: Mapping[str, Callable[[str], bool]]) -> None:
        self._is_of = metrics
        self._keys = Keys()
        self._kept = {name: Kept(np.zeros(0, np.bool_)) for name in metrics}
        self._metric_of = np.zeros(0, np.int64)
        self._amounts = Grown(3)
        self._room = MOST_KEPT

    def read(self, source: Source) -> Counted:
        """Count everything, and keep the values as far as there is room."""
        for batch, rows in read_rows(source, COLUMNS):
            codes = self._keys.encode(batch)
            self._learn()
            vantages, places, _, ends = self._keys.sizes
            shift = 2 * len(self._kept)
            amounts = self._amounts.fit(vantages, places, shift + ends)
            key_kernels.count_rows(codes, tuple(rows), self._metric_of, shift, amounts)
            present = np.bincount(codes[3], minlength=ends) > 0
            for own in self._kept.values():
                if (own.chosen & present).any():
                    self._room -= own.add(codes, rows, self._keys)
                    self._give_up()
        return self._counted(source)

    def _learn(self) -> None:
        """Which metric new ends are of."""
        if len(self._metric_of) < len(self._keys.ends):
            probes = [probe for probe, _ in self._keys.ends.names()]
            self._metric_of = np.full(len(probes), -1, np.int64)
            for number, (name, own) in enumerate(self._kept.items()):
                own.chosen = np.array([self._is_of[name](p) for p in probes], np.bool_)
                self._metric_of[own.chosen] = number

    def _give_up(self) -> None:
        """Beyond the room, nothing is kept any more."""
        if self._room < 0:
            for own in self._kept.values():
                deque(own.take(), maxlen=0)

    def _counted(self, source: Source) -> Counted:
        keys, shift = self._keys, 2 * len(self._kept)
        vantages, places, _, ends = keys.sizes
        amounts = self._amounts.amounts[:vantages, :places]
        runs = amounts[:, :, shift : shift + ends].copy() if vantages else np.zeros((0, 0, 0), int)
        names = [str(v) for v in keys.vantages.values]
        found = {}
        for number, (name, own) in enumerate(self._kept.items()):
            if own.chosen.any():
                seen = np.asarray(runs[:, :, own.chosen].any(axis=2), np.bool_)
                pairs = amounts[:, :, 2 * number : 2 * number + 2]
                found[name] = _held(_Told(source, keys, names, own, self._room >= 0), seen, pairs)
        return Counted(names, keys.places.names(), keys.ends.names(), runs, found)


class _Told(NamedTuple):
    source: Source
    keys: Keys
    vantages: list[str]
    kept: Kept
    has_values: bool


def _held(told: _Told, seen: NDArray[np.bool_], pairs: Integers) -> "Held":
    """One metric, of the vantage points, places and rounds that it has, in their order."""
    named = told.keys.places.names()
    places = sorted(
        np.flatnonzero(seen.any(axis=0)).tolist(),
        key=lambda i: (named[i][1], named[i][2], named[i][0]),
    )
    owners = sorted(np.flatnonzero(seen.any(axis=1)).tolist(), key=told.vantages.__getitem__)
    numbers, course = told.keys.rounds.values, told.kept.course.amounts
    rounds = sorted(np.flatnonzero(course[:, :, 2].any(axis=0)).tolist(), key=numbers.__getitem__)
    return Held(
        told.source,
        told.kept,
        told.has_values,
        tuple(told.vantages[i] for i in owners),
        [named[i] for i in places],
        tuple(numbers[i] for i in rounds),
        pairs[owners][:, places],
        course[places][:, rounds, :2],
        tuple(_ranks(own) for own in (owners, places, rounds)),
    )


def _ranks(order: list[int]) -> Integers:
    """Where each number stands in an order of some of them."""
    found = np.full(max(order, default=0) + 1, -1, np.int64)
    found[order] = np.arange(len(order))
    return found


def count(source: Source, metrics: Mapping[str, Callable[[str], bool]]) -> Counted:
    """Count all samples; ``metrics`` say which probes are theirs. Raises ``BadInput``."""
    return _Reading(metrics).read(source)
