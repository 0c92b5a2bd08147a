"""Nested spans flattened to disjoint intervals, and lookups of whole columns in them.

The same for cloud prefixes and, later, origin-AS tables: what a label means is not known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cartography.addresses import BITS

NO_LABEL = -1
# First and last address. Spans are nested or disjoint, never crossing, as prefixes are.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Intervals:
    """Interval i runs from ``starts[i]`` to the next start and carries ``labels[i]``.

    Starts are uint32 for IPv4. For IPv6 they are sixteen bytes in network order, which numpy
    compares as unsigned bytes, so that prefixes of every length up to /128 are exact.
    """

    family: int
    starts: NDArray[Any]
    labels: NDArray[np.int32]

    def find(self, packed: Sequence[bytes]) -> NDArray[np.int32]:
        """The label of each packed address of this family, -1 for none."""
        return self.find_keys(self.keys(packed))

    def find_keys(self, keys: NDArray[Any]) -> NDArray[np.int32]:
        """The same for a column of keys of the type of ``starts``."""
        return self.labels[np.searchsorted(self.starts, keys, side="right") - 1]

    def keys(self, packed: Sequence[bytes]) -> NDArray[Any]:
        """Packed addresses as a column of keys."""
        column = b"".join(packed)
        if self.family == 4:
            return np.frombuffer(column, dtype=">u4").astype(np.uint32)
        return np.frombuffer(column, dtype="S16")

    def numbers(self) -> list[int]:
        """All starts as whole numbers."""
        if self.family == 4:
            return [int(start) for start in self.starts]
        return [int.from_bytes(bytes(start).ljust(16, b"\0")) for start in self.starts]


def find_parents(spans: Sequence[Span]) -> list[int]:
    """For each span the position of the smallest other one around it, -1 for none.

    ``spans`` are ordered by first address, the larger one first where two begin alike.
    """
    parents, around = [], [NO_LABEL]
    for position, (first, _) in enumerate(spans):
        while around[-1] >= 0 and spans[around[-1]][1] < first:
            around.pop()
        parents.append(around[-1])
        around.append(position)
    return parents


def flatten(family: int, spans: Sequence[Span], labels: Sequence[int]) -> Intervals:
    """Disjoint intervals of nested spans, in the order that ``find_parents`` asks for.

    Behind the end of an inner span the outer one is open again; a gap belongs to nobody.
    """
    marks = {0: NO_LABEL}  # a later mark at the same address is the more specific one
    around: list[tuple[int, int]] = [(1 << BITS[family], NO_LABEL)]
    for (first, last), label in zip(spans, labels, strict=True):
        _close(around, first, marks)
        marks[first] = label
        around.append((last + 1, label))
    _close(around, 1 << BITS[family], marks)
    marks.pop(1 << BITS[family], None)
    return _intervals(family, _without_repeats(marks))


def _close(around: list[tuple[int, int]], at: int, marks: dict[int, int]) -> None:
    while len(around) > 1 and around[-1][0] <= at:
        end, _ = around.pop()
        marks[end] = around[-1][1]


def _without_repeats(marks: dict[int, int]) -> dict[int, int]:
    # Spans are visited in order and ends are closed in order, so the marks are in order too.
    repeated = [at for (_, before), (at, label) in pairwise(marks.items()) if before == label]
    for at in repeated:
        del marks[at]
    return marks


def _intervals(family: int, marks: dict[int, int]) -> Intervals:
    starts: NDArray[Any]
    if family == 4:
        starts = np.fromiter(marks, dtype=np.uint32, count=len(marks))
    else:
        starts = np.array([at.to_bytes(16) for at in marks], dtype="S16")
    return Intervals(family, starts, np.fromiter(marks.values(), dtype=np.int32, count=len(marks)))
