"""CPU time of a receiver with a driver that merges packets into segments (generic receive offload).

Packets of flowcells arrive over paths of different delay. A poll merges what has arrived and pushes
segments to the stack: *official* keeps one segment per flow, which a packet that does not follow it
pushes, and pushes all at the end of a poll; *reordering* keeps a list of segments and pushes them
in order (He et al., Presto, algorithm 1). Cost is a time per packet, per segment and per segment
that the stack gets out of order.
"""

from dataclasses import dataclass, fields
from typing import Any

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
MODES = ("none", "official", "reordering")
NONE, REORDERING = 0, 2
SEGMENT = np.dtype([("start", "i8"), ("length", "i8"), ("since", "f8")], align=True)
# What a driver knows: settings, the list of segments and the stack's next number, and totals.
DRIVER = np.dtype(
    [
        *((name, "i8") for name in ("mode", "poll_packets", "ring_packets")),
        *((name, "f8") for name in ("packet_us", "segment_us", "disorder_us", "coalescing_us")),
        *((name, "i8") for name in ("held", "stack_next", "expected", "last_cell")),
        *((name, "f8") for name in ("mean", "now", "work", "busy_us")),
        *((name, "i8") for name in ("dropped", "pushed", "disorder")),
    ],
    align=True,
)


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
    sizes, ring, segments = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, SEGMENT)
    driver = np.zeros(1, DRIVER)
    driver["mode"] = MODES.index(algorithm)
    driver["mean"] = FIRST_MEAN_US
    for field in fields(Receiver):
        driver[field.name] = getattr(receiver, field.name)
    _receive(driver, times_us, numbers, (ring, segments, sizes))
    names = ["dropped", "pushed", "disorder", "busy_us", "now"]
    dropped, pushed, disorder, busy_us, end_us = driver[names][0].tolist()
    passed_us = max(end_us - float(times_us[0]), 1e-9)
    return Reception(dropped / n, sizes[:pushed], disorder / max(pushed, 1), busy_us / passed_us)


@compile_loop
def _receive(drivers: Any, times: Floats, numbers: Integers, places: Any) -> None:
    """Poll until all packets are pushed; ``places`` are the ring, held segments, pushed sizes."""
    driver, n = drivers[0], len(numbers)
    ring, segments, sizes = places
    first, last, i = 0, 0, 0
    driver.now = times[0]
    while i < n or first < last or driver.held > 0:
        if first == last:
            # The ring is empty: an interrupt begins the next poll.
            begins = max(driver.now, times[i]) if i < n else driver.now
            driver.now = driver.coalescing_us + begins
        while i < n and times[i] <= driver.now:
            if last - first < driver.ring_packets:
                ring[last] = numbers[i]
                last += 1
            else:
                driver.dropped += 1
            i += 1
        driver.work = 0.0
        end = min(first + driver.poll_packets, last)
        while first < end:
            _merge(driver, segments, sizes, ring[first])
            first += 1
        _flush(driver, segments, sizes, i == n and first == last)
        driver.busy_us += driver.work
        driver.now += driver.work


@compile_loop
def _merge(driver: Any, segments: Any, sizes: Integers, number: Any) -> None:
    """Merge a packet into a segment that it follows, or begin one, in order of the list."""
    driver.work += driver.packet_us
    for s in range(driver.held - 1, -1, -1):
        segment = segments[s]
        same_cell = number // CELL_PACKETS == segment.start // CELL_PACKETS
        if driver.mode > NONE and same_cell and segment.start + segment.length == number:
            segment.length += 1
            return
    if driver.mode < REORDERING and driver.held > 0:
        _push(driver, sizes, segments[0])
        driver.held = 0
    at = driver.held
    while at > 0 and segments[at - 1].start > number:
        _move(segments[at - 1], segments[at])
        at -= 1
    segment = segments[at]
    segment.start, segment.length, segment.since = number, 1, driver.now
    driver.held += 1


@compile_loop
def _flush(driver: Any, segments: Any, sizes: Integers, ends: Any) -> None:
    """Push at the end of a poll what need not wait for packets before it."""
    left = 0
    for s in range(driver.held):
        segment = segments[s]
        if _is_due(driver, segment, ends):
            _push(driver, sizes, segment)
        else:
            _move(segment, segments[left])
            left += 1
    driver.held = left


@compile_loop
def _is_due(driver: Any, segment: Any, ends: Any) -> Any:
    """Return whether to push a segment: of the current cell, the next one, or after a time-out."""
    cell, after = segment.start // CELL_PACKETS, segment.start + segment.length
    if driver.mode < REORDERING or cell <= driver.last_cell or ends:
        if driver.mode == REORDERING and cell == driver.last_cell:
            driver.expected = max(driver.expected, after)
        return True
    waited, follows = driver.now - segment.since, driver.expected == segment.start
    if not follows and waited <= ALPHA * driver.mean:
        return False
    if follows and waited > 0:
        driver.mean += (waited - driver.mean) * WEIGHT
    driver.last_cell, driver.expected = cell, after
    return True


@compile_loop
def _push(driver: Any, sizes: Integers, segment: Any) -> None:
    """Push a segment to the stack."""
    driver.work += driver.segment_us
    if segment.start != driver.stack_next:
        driver.work += driver.disorder_us
        driver.disorder += 1
    driver.stack_next = max(driver.stack_next, segment.start + segment.length)
    sizes[driver.pushed] = segment.length
    driver.pushed += 1


@compile_loop
def _move(source: Any, target: Any) -> None:
    target.start, target.length, target.since = source.start, source.length, source.since
