"""Queues of packets at scheduled ports, as lists through the packets."""

from typing import Any

from core.jit import compile_inlined
from simulator.packets.arrays import links_of, packets_of, queues_of
from simulator.packets.layout import NONE
from simulator.packets.ports.shared_buffer import remove_from_buffer


@compile_inlined
def append_to_queue(state: Any, queue: Any, index: Any) -> None:
    """Add a packet behind the others of a queue."""
    packet = packets_of(state)[index]
    packet.next = NONE
    queue.bytes += packet.size
    if queue.head == NONE:
        queue.head = index
    else:
        packets_of(state)[queue.tail].next = index
    queue.tail = index


@compile_inlined
def remove_head(state: Any, number: Any, priority: Any) -> Any:
    """Remove and return the first packet of a queue."""
    queue = queues_of(state)[number, priority]
    link = links_of(state)[number]
    index = queue.head
    packet = packets_of(state)[index]
    queue.head = packet.next
    queue.bytes -= packet.size
    link.queued -= 1
    if link.switch != NONE:
        remove_from_buffer(state, number, packet.size)
    return index
