import heapq

import numpy as np
import pytest

from core.jit import compile_loop
from simulator.packets.heap import create_heap, fill, hold, push, remove_first, replace_first


@compile_loop
def play(heap, operations, entries, first):
    """Push (0), replace the first (1) or remove it (2); record the first after each."""
    n = 0
    for step in range(len(operations)):
        if operations[step] == 0 or n == 0:
            push(heap, n, entries[step])
            n += 1
        elif operations[step] == 1:
            replace_first(heap, n, entries[step])
        else:
            remove_first(heap, n)
            n -= 1
        first[step] = heap[0]


def play_reference(operations, entries):
    heap, first = [], []
    for operation, entry in zip(operations.tolist(), entries.tolist(), strict=True):
        if operation == 0 or not heap:
            heapq.heappush(heap, entry)
        elif operation == 1:
            heapq.heapreplace(heap, entry)
        else:
            heapq.heappop(heap)
        first.append(heap[0] if heap else np.iinfo(np.int64).max)
    return first


@pytest.mark.parametrize("seed", range(20))
def test_it_serves_as_another_heap_does(seed):
    random = np.random.default_rng(seed)
    operations = random.choice(3, 400, p=(0.4, 0.3, 0.3))
    entries = random.integers(0, 50, 400) << 4 | random.integers(0, 16, 400)
    first = np.zeros(400, np.int64)
    play(create_heap(400), operations, entries, first)
    assert first.tolist() == play_reference(operations, entries)


def test_the_hold_model_keeps_all_entries():
    heap = create_heap(700)
    fill(heap, np.arange(700)[::-1].copy(), 10)
    assert hold(heap, 700, 10, 10_000) > 700
    assert sorted(heap[:700] & 1023) == list(range(700))
