"""A heap of four children per node in one array of int64, for compiled loops.

An entry is ``time << bits | key``: one comparison orders by time and then by key, so the order of
simultaneous events is defined. Behind the last entry the array holds ``EMPTY``, which saves the
test for missing children; ``SPARE`` places are needed for that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_inlined, compile_loop

SPARE = 4
EMPTY = np.iinfo(np.int64).max


def create_heap(capacity: int) -> NDArray[np.int64]:
    """Return an empty heap of shape (capacity + SPARE,)."""
    return np.full(capacity + SPARE, EMPTY, np.int64)


@compile_inlined
def replace_first(heap: Any, n: Any, entry: Any) -> None:
    """Replace the first of ``n`` entries by another one."""
    at = 0
    while True:
        child = 4 * at + 1
        if child >= n:
            break
        first = heap[child]
        second = heap[child + 1]
        third = heap[child + 2]
        least = min(min(first, second), min(third, heap[child + 3]))
        if least >= entry:
            break
        heap[at] = least
        at = child + (0 if least == first else 1 if least == second else 2 if least == third else 3)
    heap[at] = entry


@compile_inlined
def push(heap: Any, n: Any, entry: Any) -> None:
    """Add an entry to a heap of ``n``."""
    at = n
    while at > 0:
        parent = (at - 1) >> 2
        if heap[parent] <= entry:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


@compile_inlined
def remove_first(heap: Any, n: Any) -> None:
    """Remove the first of ``n`` entries."""
    last = heap[n - 1]
    heap[n - 1] = EMPTY
    if n > 1:
        replace_first(heap, n - 1, last)


@compile_loop
def fill(heap: Any, times: Any, bits: Any) -> None:
    """Add entries with the keys 0, 1, ... to an empty heap."""
    for key in range(len(times)):
        push(heap, key, (times[key] << bits) | key)


@compile_loop
def hold(heap: Any, n: Any, bits: Any, steps: Any) -> Any:
    """Replace the first entry by one at a pseudo-random later time; return the last time.

    This is the hold model, by which event lists are compared.
    """
    random = np.uint64(88172645463325252)
    for _ in range(steps):
        random ^= random << np.uint64(13)
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        replace_first(heap, n, heap[0] + (np.int64(random >> np.uint64(44)) << bits))
    return heap[0] >> bits
