"""Interleave columns of work evenly, so that no zone is queried in a burst.

Each column (a zone with its names) is spread over the whole sequence from a random offset.
Columns are read only as far as they are needed.
"""

import heapq
import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def spread(columns: Iterable[tuple[int, Iterator[T]]], rng: random.Random) -> Iterator[T]:
    """All items of (expected length, items) columns; a wrong length only makes it less even."""
    heap: list[tuple[float, int, float, Iterator[T]]] = []
    for number, (length, items) in enumerate(columns):
        step = 1.0 / max(1, length)
        heap.append((rng.random() * step, number, step, items))
    heapq.heapify(heap)
    while heap:
        at, number, step, items = heap[0]
        for item in items:
            yield item
            heapq.heapreplace(heap, (at + step, number, step, items))
            break
        else:
            heapq.heappop(heap)
