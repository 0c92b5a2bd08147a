"""Count runs by vantage point, place and end in one pass, and buffer each metric's values.

A place is (provider, region, zone), an end is (probe, status)."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.campaigns.aggregation import key_kernels
from analysis.campaigns.aggregation.grid import read_rows
from analysis.campaigns.aggregation.grouped_values import (
    GroupedValues,
    Integers,
    MetricBuffer,
    Place,
)
from analysis.campaigns.aggregation.keys import COLUMNS, GrowableCounts, Keys
from analysis.campaigns.importers.csv_columns import Source

# Bytes of values and keys that are buffered in the first pass; beyond that, files are read again
# for some vantage points at a time.
MAX_BUFFER_BYTES = 900 << 20


class SampleCounts(NamedTuple):
    """Counts over all samples: ``runs`` (n_vantages, n_places, n_ends) int64, and each metric."""

    vantages: list[str]
    places: list[Place]
    ends: list[Place]
    runs: Integers
    metrics: dict[str, "GroupedValues"]


class _Pass:
    """One pass over all samples; the probe of a sample determines its metric."""

    def __init__(self, metrics: Mapping[str, Callable[[str], bool]]) -> None:
        self._is_of = metrics
        self._keys = Keys()
        self._buffers = {name: MetricBuffer(np.zeros(0, np.bool_)) for name in metrics}
        self._metric_of = np.zeros(0, np.int64)
        self._counts = GrowableCounts(3)
        self._bytes_left = MAX_BUFFER_BYTES

    def read(self, source: Source) -> SampleCounts:
        """Count all rows and buffer values up to ``MAX_BUFFER_BYTES``."""
        for batch, rows in read_rows(source, COLUMNS):
            codes = self._keys.encode(batch)
            self._assign_metrics()
            vantages, places, _, ends = self._keys.sizes
            shift = 2 * len(self._buffers)
            counts = self._counts.fit(vantages, places, shift + ends)
            key_kernels.count_rows(codes, tuple(rows), self._metric_of, shift, counts)
            present = np.bincount(codes[3], minlength=ends) > 0
            for own in self._buffers.values():
                if (own.chosen & present).any():
                    self._bytes_left -= own.add(codes, rows, self._keys)
                    self._release_buffers()
        return self._build(source)

    def _assign_metrics(self) -> None:
        """Assign new ends to their metrics."""
        if len(self._metric_of) < len(self._keys.ends):
            probes = [probe for probe, _ in self._keys.ends.names()]
            self._metric_of = np.full(len(probes), -1, np.int64)
            for number, (name, own) in enumerate(self._buffers.items()):
                own.chosen = np.array([self._is_of[name](p) for p in probes], np.bool_)
                self._metric_of[own.chosen] = number

    def _release_buffers(self) -> None:
        """Drop all buffered values once the limit is exceeded."""
        if self._bytes_left < 0:
            for own in self._buffers.values():
                deque(own.drain(), maxlen=0)

    def _build(self, source: Source) -> SampleCounts:
        keys, shift = self._keys, 2 * len(self._buffers)
        vantages, places, _, ends = keys.sizes
        counts = self._counts.values[:vantages, :places]
        runs = counts[:, :, shift : shift + ends].copy() if vantages else np.zeros((0, 0, 0), int)
        names = [str(v) for v in keys.vantages.values]
        found = {}
        for number, (name, own) in enumerate(self._buffers.items()):
            if own.chosen.any():
                seen = np.asarray(runs[:, :, own.chosen].any(axis=2), np.bool_)
                pairs = counts[:, :, 2 * number : 2 * number + 2]
                found[name] = _group_values(
                    _MetricInput(source, keys, names, own, self._bytes_left >= 0), seen, pairs
                )
        return SampleCounts(names, keys.places.names(), keys.ends.names(), runs, found)


class _MetricInput(NamedTuple):
    source: Source
    keys: Keys
    vantages: list[str]
    buffer: MetricBuffer
    has_values: bool


def _group_values(
    metric: _MetricInput, seen: NDArray[np.bool_], pairs: Integers
) -> "GroupedValues":
    """Return the values of one metric with its vantage points, places and rounds in order."""
    named = metric.keys.places.names()
    places = sorted(
        np.flatnonzero(seen.any(axis=0)).tolist(),
        key=lambda i: (named[i][1], named[i][2], named[i][0]),
    )
    owners = sorted(np.flatnonzero(seen.any(axis=1)).tolist(), key=metric.vantages.__getitem__)
    numbers, course = metric.keys.rounds.values, metric.buffer.course.values
    rounds = sorted(np.flatnonzero(course[:, :, 2].any(axis=0)).tolist(), key=numbers.__getitem__)
    return GroupedValues(
        metric.source,
        metric.buffer,
        metric.has_values,
        tuple(metric.vantages[i] for i in owners),
        [named[i] for i in places],
        tuple(numbers[i] for i in rounds),
        pairs[owners][:, places],
        course[places][:, rounds, :2],
        tuple(_rank_numbers(own) for own in (owners, places, rounds)),
    )


def _rank_numbers(order: list[int]) -> Integers:
    """Return the position of each number in ``order``, -1 where absent, (max + 1,) int64."""
    found = np.full(max(order, default=0) + 1, -1, np.int64)
    found[order] = np.arange(len(order))
    return found


def count_samples(source: Source, metrics: Mapping[str, Callable[[str], bool]]) -> SampleCounts:
    """Count all samples; ``metrics`` map a metric to a test of probe names. Raise ``BadInput``."""
    return _Pass(metrics).read(source)
