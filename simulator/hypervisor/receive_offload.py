"""CPU time of a receiver with a driver that merges packets into segments (generic receive offload).

Packets of flowcells arrive over paths of different delay. A poll merges what has arrived and pushes
segments to the stack: *official* keeps one segment per flow, which a packet that does not follow it
pushes, and pushes all at the end of a poll; *reordering* keeps a list of segments and pushes them
in order (He et al., Presto, algorithm 1). Cost is a time per packet, per segment and per segment
that the stack gets out of order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PACKET_BYTES = 1500
# A flowcell, and the largest segment, of 64 KB.
CELL_PACKETS = 43
# Longest wait for a cell in means of earlier waits, the weight of the last one, and the first mean.
ALPHA, WEIGHT, FIRST_MEAN_US = 2.0, 1 / 8, 100.0


@dataclass(frozen=True, slots=True)
class Receiver:
    """Times in µs; a poll follows the last one, or the first new packet by ``coalescing_us``."""

    packet_us: float
    segment_us: float
    disorder_us: float
    coalescing_us: float = 30.0
    poll_packets: int = 64
    ring_packets: int = 512


@dataclass(frozen=True, slots=True)
class Reception:
    """Share of packets that found the ring full, segment sizes in packets, share of CPU time."""

    dropped: float
    sizes: Integers
    out_of_order: float
    busy: float


def arrive_over_paths(
    n: int, rate_gbps: float, paths: int, spread_us: float, seed: int
) -> tuple[Floats, Integers]:
    """Times in µs, and numbers, of packets in the order of their arrival, shape (n,).

    Each flowcell uses the next path, with a delay that is uniform up to ``spread_us``; a path does
    not reorder.
    """
    random = np.random.default_rng(seed)
    numbers = np.arange(n, dtype=np.int64)
    cells = numbers // CELL_PACKETS
    times = numbers.astype(np.float64) * (PACKET_BYTES * 8e-3 / rate_gbps)
    times += random.uniform(0, spread_us, cells[-1] + 1)[cells]
    for path in range(paths):
        on_path = cells % paths == path
        times[on_path] = np.maximum.accumulate(times[on_path])
    order = np.argsort(times, kind="stable")
    return times[order], numbers[order]


def receive_packets(
    receiver: Receiver, times_us: Floats, numbers: Integers, algorithm: str
) -> Reception:
    """Receive packets with *none*, *official* or *reordering* offload."""
    n = len(numbers)
    sizes, totals = np.zeros(n, np.int64), np.zeros(4)
    mode = ("none", "official", "reordering").index(algorithm)
    costs = np.array([receiver.packet_us, receiver.segment_us, receiver.disorder_us])
    limits = np.array([receiver.poll_packets, receiver.ring_packets])
    pushed = _receive(times_us, numbers, mode, costs, receiver.coalescing_us, limits, sizes, totals)
    dropped, disorder, busy_us, end_us = totals.tolist()
    passed_us = max(end_us - float(times_us[0]), 1e-9)
    return Reception(dropped / n, sizes[:pushed], disorder / max(pushed, 1), busy_us / passed_us)


@compile_loop
def _receive(  # noqa: C901, PLR0913, PLR0915 — one loop over polls, compiled as a whole
    times: Floats,
    numbers: Integers,
    mode: int,
    costs: Floats,
    coalescing: float,
    limits: Integers,
    sizes: Integers,
    totals: Floats,
) -> int:
    n, pushed = len(numbers), 0
    ring = np.zeros(n, np.int64)
    first, last, i = 0, 0, 0
    # Segments that are held, in order of sequence numbers.
    starts, lengths, since = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    held = 0
    # The stack's next number; and of the reordering list: next number, its cell, mean wait.
    stack_next, expected, last_cell, mean = 0, 0, 0, FIRST_MEAN_US
    now = times[0]
    while i < n or first < last or held > 0:
        if first == last:
            # The ring is empty: an interrupt begins the next poll.
            now = coalescing + (max(now, times[i]) if i < n else now)
        while i < n and times[i] <= now:
            if last - first < limits[1]:
                ring[last] = numbers[i]
                last += 1
            else:
                totals[0] += 1
            i += 1
        taken, work = min(limits[0], last - first), 0.0
        for k in range(first, first + taken):
            number = ring[k]
            work += costs[0]
            merged = False
            for s in range(held - 1, -1, -1):
                same_cell = number // CELL_PACKETS == starts[s] // CELL_PACKETS
                if mode > 0 and same_cell and starts[s] + lengths[s] == number:
                    lengths[s] += 1
                    merged = True
                    break
            if merged:
                continue
            if mode < 2 and held > 0:
                work += costs[1]
                if starts[0] != stack_next:
                    work += costs[2]
                    totals[1] += 1
                stack_next = max(stack_next, starts[0] + lengths[0])
                sizes[pushed] = lengths[0]
                pushed += 1
                held = 0
            # Insert in order.
            at = held
            while at > 0 and starts[at - 1] > number:
                starts[at], lengths[at], since[at] = starts[at - 1], lengths[at - 1], since[at - 1]
                at -= 1
            starts[at], lengths[at], since[at] = number, 1, now
            held += 1
        first += taken
        # The flush at the end of a poll.
        left = 0
        ends = i == n and first == last
        for s in range(held):
            cell = starts[s] // CELL_PACKETS
            push = mode < 2 or cell <= last_cell or ends
            if push and mode == 2 and cell == last_cell:
                expected = max(expected, starts[s] + lengths[s])
            elif not push and (expected == starts[s] or now - since[s] > ALPHA * mean):
                if expected == starts[s] and now > since[s]:
                    mean += (now - since[s] - mean) * WEIGHT
                last_cell, expected, push = cell, starts[s] + lengths[s], True
            if not push:
                starts[left], lengths[left], since[left] = starts[s], lengths[s], since[s]
                left += 1
                continue
            work += costs[1]
            if starts[s] != stack_next:
                work += costs[2]
                totals[1] += 1
            stack_next = max(stack_next, starts[s] + lengths[s])
            sizes[pushed] = lengths[s]
            pushed += 1
        held = left
        totals[2] += work
        now += work
    totals[3] = now
    return pushed
