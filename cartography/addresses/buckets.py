"""The bucket index over intervals: where the search for an address begins, or already ends.

For IPv4 a bucket of 64 cells has one bit for each cell in which another label begins, so that
counting bits gives the label without a search. For IPv6 a bucket is a /64: few hold a start, and
those that do are searched.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.addresses.intervals import Intervals, sort_distinct

# A cell of the first level is a /24, which is as fine as routed prefixes get.
_CELL_BITS = 8
_N_CELLS = 1 << (32 - _CELL_BITS)
# Cells in a bucket: as many as a machine word has bits.
_BUCKET_BITS = 6


@dataclass(frozen=True)
class Buckets4:
    """Two levels of the same form: /24s in buckets of 64, then addresses in buckets of 64.

    ``words`` holds two numbers for each bucket: its bits, and the position before its first entry
    in ``cells``. A cell holds a label plus one; a negative one, -1 - k, leads to the four buckets
    of ``fine_words`` from 4 k on.
    """

    words: NDArray[np.uint64]
    cells: NDArray[np.int32]
    fine_words: NDArray[np.uint64]
    fine_cells: NDArray[np.int32]


@dataclass(frozen=True)
class Buckets6:
    """Each upper half among the starts once, and the position of the last interval with it."""

    tops: NDArray[np.uint64]
    ends: NDArray[np.int32]


def index_ipv4(intervals: Intervals) -> Buckets4:
    """The bucket index of an IPv4 table."""
    starts = intervals.starts.low
    cut = sort_distinct(starts[(starts & 0xFF) != 0] >> _CELL_BITS)
    cells = sort_distinct(
        np.concatenate(
            [
                np.arange(0, _N_CELLS, 1 << _BUCKET_BITS, dtype=np.uint32),
                starts >> _CELL_BITS,
                cut + np.uint32(1),
            ]
        )
    )
    cells = cells[cells < _N_CELLS]
    values = _value_at(intervals, cells << np.uint32(_CELL_BITS))
    values[np.searchsorted(cells, cut)] = -1 - np.arange(len(cut), dtype=np.int32)
    fine, fine_values = _cut_cells(intervals, cut)
    words, fine_words = _words(cells), _words(fine)
    return Buckets4(words, values, fine_words, fine_values)


def _cut_cells(intervals: Intervals, cut: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Positions within the cut /24s, counted through, at which a label begins; and the labels."""
    starts = intervals.starts.low
    own = starts[np.isin(starts >> _CELL_BITS, cut)]
    edges = (cut[:, None] << _CELL_BITS) + np.arange(0, 256, 1 << _BUCKET_BITS, dtype=np.uint32)
    addresses = sort_distinct(np.concatenate([own, edges.reshape(-1)]))
    order = np.searchsorted(cut, addresses >> _CELL_BITS).astype(np.uint32)
    return (order << _CELL_BITS) | (addresses & 0xFF), _value_at(intervals, addresses)


def _value_at(intervals: Intervals, addresses: NDArray[Any]) -> NDArray[np.int32]:
    found = np.searchsorted(intervals.starts.low, addresses, side="right") - 1
    return intervals.labels[found] + np.int32(1)


def _words(cells: NDArray[Any]) -> NDArray[np.uint64]:
    """Bits and base of every bucket; each bucket's first cell is among ``cells``."""
    begins = np.flatnonzero((cells & 0x3F) == 0)
    words = np.zeros((len(begins), 2), dtype=np.uint64)
    if len(begins):
        bits = np.uint64(1) << (cells & 0x3F).astype(np.uint64)
        words[:, 0] = np.add.reduceat(bits, begins)
        words[:, 1] = begins.astype(np.uint64) - np.uint64(1)
    return words.reshape(-1)


def index_ipv6(intervals: Intervals) -> Buckets6:
    """The bucket index of an IPv6 table."""
    high: Any = intervals.starts.high
    ends = np.flatnonzero(np.append(high[1:] != high[:-1], True))
    return Buckets6(high[ends], ends.astype(np.int32))
