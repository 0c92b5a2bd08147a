"""The record that all readers of logs give out, and figures that need nothing but counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

STALL_NS = 10_000_000
NS_PER_UNIT = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class Log:
    """One series of another tool, in that tool's own unit, with its own way to round.

    ``values`` ascend and ``counts`` belong to them; ``rejected`` are lines that could not be read.
    ``overflows`` were longer than the tool keeps apart: they are samples of unknown length.
    """

    kind: str
    name: str
    unit: str
    histograms: int
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    maximum: float
    seconds: float | None = None
    overflows: int = 0
    rejected: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """Number of measurements, overflows too."""
        return int(self.counts.sum()) + self.overflows

    def find_percentile(self, share: float) -> float:
        """Value that ``share`` of the samples do not exceed, by nearest rank."""
        if not self.samples:
            return float("nan")
        rank = max(1, int(np.ceil(share * self.samples - 1e-6)))
        at = int(np.searchsorted(self.counts.cumsum(), rank))
        return float(self.values[at]) if at < len(self.values) else self.maximum

    def count_from(self, least_ns: int = STALL_NS) -> int | None:
        """Samples of 10 ms or more; nothing where the log cannot show it."""
        scale = NS_PER_UNIT.get(self.unit)
        if scale is None:
            return None
        found = int(self.counts[self.values * scale >= least_ns].sum())
        if not self.overflows or self.maximum * scale < least_ns:
            return found
        # What ran over is only known to be longer than the longest value that is kept apart.
        keeps = len(self.values) and self.values[-1] * scale >= least_ns
        return found + self.overflows if keeps else None


def count_values(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ascending distinct values and how often each occurs."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts.astype(np.int64)


def join_logs(logs: Sequence[Log], name: str) -> Log:
    """One series of several of the same tool and unit: of many machines that have few values."""
    first = logs[0]
    values = np.concatenate([log.values for log in logs])
    distinct, places = np.unique(values, return_inverse=True)
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([log.counts for log in logs]))
    return Log(
        first.kind,
        name,
        first.unit,
        len(logs),
        distinct,
        counts,
        max(log.maximum for log in logs),
        None,
        sum(log.overflows for log in logs),
        first.rejected,
    )
