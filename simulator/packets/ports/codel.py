"""CoDel (RFC 8289): packets that waited for longer than the target leave at a growing rate."""

import math
from typing import Any

import numpy as np

from core.jit import compile_loop
from simulator.packets.arrays import links_of, packets_of, queues_of
from simulator.packets.layout import NONE
from simulator.packets.ports.links import drop_packet
from simulator.packets.ports.queues import remove_head

_FULL_PACKET_BYTES = 1514


@compile_loop
def dequeue_by_codel(state: Any, number: Any, priority: Any, now: Any) -> Any:
    """Remove and return the packet to transmit; those above the target are dropped or marked.

    The queue holds a packet, and the last one is never dropped.
    """
    queue = queues_of(state)[number, priority]
    index = remove_head(state, number, priority)
    above = _waits_too_long(state, queue, index, now)
    if not queue.dropping:
        if above:
            index = _signal(state, number, priority, index)
            _waits_too_long(state, queue, index, now)
            _start_dropping(state, queue, now)
        return index
    queue.dropping = above
    while queue.dropping and now >= queue.next_drop:
        queue.count += 1
        marked = state.codel_marks and packets_of(state)[index].markable
        index = _signal(state, number, priority, index)
        queue.dropping = _waits_too_long(state, queue, index, now)
        if queue.dropping:
            queue.next_drop = _next_drop(state, queue.next_drop, queue.count)
        if marked:
            break
    return index


@compile_loop
def _waits_too_long(state: Any, queue: Any, index: Any, now: Any) -> Any:
    """Return whether all packets of an interval waited for longer than the target."""
    if now - packets_of(state)[index].time < state.codel_target or queue.bytes < _FULL_PACKET_BYTES:
        queue.above_since = 0
        return 0
    if queue.above_since == 0:
        queue.above_since = now + state.codel_interval
        return 0
    return 1 if now >= queue.above_since else 0


@compile_loop
def _signal(state: Any, number: Any, priority: Any, index: Any) -> Any:
    """Mark the packet, or drop it; return the packet to transmit."""
    packet = packets_of(state)[index]
    link = links_of(state)[number]
    if state.codel_marks and packet.markable:
        packet.marked = 1
        link.marked += 1
        return index
    if queues_of(state)[number, priority].head == NONE:
        return index
    link.discarded += 1
    drop_packet(state, index)
    return remove_head(state, number, priority)


@compile_loop
def _start_dropping(state: Any, queue: Any, now: Any) -> None:
    queue.dropping = 1
    fresh = queue.count - queue.last_count
    recent = now - queue.next_drop < 16 * state.codel_interval
    queue.count = fresh if fresh > 1 and recent else 1
    queue.next_drop = _next_drop(state, now, queue.count)
    queue.last_count = queue.count


@compile_loop
def _next_drop(state: Any, time: Any, count: Any) -> Any:
    """Return the time of the next drop: the interval is divided by the root of the count."""
    return time + np.int64(state.codel_interval / math.sqrt(count))
