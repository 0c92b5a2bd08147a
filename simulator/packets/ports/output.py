"""Output ports that serve in order of arrival, with drop-tail or marks at a threshold.

Such a port needs no event of its own: when a packet is accepted, the times at which its
transmission starts and ends are known.
"""

from typing import Any

import numpy as np

from core.jit import compile_inlined
from simulator.packets.arrays import links_heap_of, links_of, packets_of, routes_of
from simulator.packets.heap import push
from simulator.packets.layout import FIFO
from simulator.packets.ports.links import append_to_link, drop_packet, refuse_or_mark
from simulator.packets.ports.scheduled import enqueue_scheduled


@compile_inlined
def enqueue(state: Any, number: Any, index: Any) -> Any:
    """Accept, mark or drop a packet, now; return the entry of a link that was idle, else 0."""
    link = links_of(state)[number]
    if link.policy != FIFO:
        return enqueue_scheduled(state, number, index)
    packet = packets_of(state)[index]
    now = state.now
    start = max(now, link.busy_until)
    end = start + packet.size * link.ps_per_byte
    if refuse_or_mark(link, packet, start - now) or end - now > link.drop_above:
        link.dropped += 1
        drop_packet(state, index)
        return 0
    link.busy_until = end
    link.wait += start - now
    link.accepted += 1
    link.bytes += packet.size
    packet.time = end + link.delay
    return append_to_link(state, number, index)


@compile_inlined
def send(state: Any, index: Any) -> None:
    """Enqueue a packet at the first link of its route."""
    entry = enqueue(state, np.int64(routes_of(state)[index, 0]), index)
    if entry != 0:
        push(links_heap_of(state), state.busy_links, entry)
        state.busy_links += 1
