"""Ports with strict priorities, CoDel or a buffer shared by the ports of a switch.

The port decides which packet is next when the one before has left. That needs no event: whatever
happens at a port first makes the decisions that are due, in order, and while packets wait, one is
on the link and will arrive later.
"""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import backlogged_of, links_of, packets_of, queues_of, switches_of
from simulator.packets.layout import NONE
from simulator.packets.ports.codel import dequeue_by_codel
from simulator.packets.ports.links import append_to_link, drop_packet, refuse_or_mark
from simulator.packets.ports.queues import append_to_queue, remove_head
from simulator.packets.ports.shared_buffer import add_to_buffer, exceeds_buffer


@compile_loop
def enqueue_scheduled(state: Any, number: Any, index: Any) -> Any:
    """Accept, mark or drop a packet, now; return the entry of a link that was idle, else 0."""
    link = links_of(state)[number]
    packet = packets_of(state)[index]
    now = state.now
    serve_port(state, number, now)
    queue = queues_of(state)[number, packet.priority]
    wait = max(link.busy_until - now, 0) + queue.bytes * link.ps_per_byte
    refused = refuse_or_mark(link, packet, wait)
    refused |= wait + packet.size * link.ps_per_byte > link.drop_above
    if not refused and link.switch != NONE:
        _serve_switch(state, link.switch, now)
        refused = exceeds_buffer(state, number, packet.size)
    if refused:
        link.dropped += 1
        drop_packet(state, index)
        return 0
    link.accepted += 1
    packet.time = now
    append_to_queue(state, queue, index)
    link.queued += 1
    if link.switch != NONE:
        add_to_buffer(state, number, packet.size)
    return _transmit_next(state, number, now) if link.busy_until <= now else 0


@compile_inlined
def serve_port(state: Any, number: Any, now: Any) -> None:
    """Start all transmissions that are due."""
    link = links_of(state)[number]
    while link.queued > 0 and link.busy_until <= now:
        _transmit_next(state, number, link.busy_until)


@compile_loop
def _serve_switch(state: Any, switch: Any, now: Any) -> None:
    """Start all transmissions that are due at the backlogged ports of a switch."""
    place = switches_of(state)[switch].backlogged - 1
    while place >= 0:
        serve_port(state, np.int64(backlogged_of(state)[switch, place]), now)
        place -= 1


@compile_loop
def _transmit_next(state: Any, number: Any, time: Any) -> Any:
    """Start the transmission of the next packet; return the entry of an idle link, else 0."""
    priority = state.priorities - 1
    while priority > 0 and queues_of(state)[number, priority].head == NONE:
        priority -= 1
    if state.codel:
        index = dequeue_by_codel(state, number, priority, time)
    else:
        index = remove_head(state, number, priority)
    link = links_of(state)[number]
    packet = packets_of(state)[index]
    link.busy_until = time + packet.size * link.ps_per_byte
    link.wait += time - packet.time
    link.bytes += packet.size
    packet.time = link.busy_until + link.delay
    return append_to_link(state, number, index)
