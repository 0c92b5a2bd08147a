"""Places of packets and slots of flows, the packets on a link, marks and drops."""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import flows_of, links_of, outcomes_of, packets_of
from simulator.packets.layout import NONE


@compile_inlined
def allocate_packet(state: Any) -> Any:
    """Return a free place for a packet; the event loop ensures that there is one."""
    index = state.free_packet
    state.free_packet = packets_of(state)[index].next
    state.free_packets -= 1
    return index


@compile_inlined
def release_packet(state: Any, index: Any) -> None:
    """Return the place of a packet that has left the network."""
    packet = packets_of(state)[index]
    slot = np.int64(packet.flow)
    flow = flows_of(state)[slot]
    flow.in_network -= 1
    if flow.in_network == 0 and flow.una == flow.n_packets:
        release_flow(state, slot)
    packet.next = state.free_packet
    state.free_packet = index
    state.free_packets += 1


@compile_loop
def release_flow(state: Any, slot: Any) -> None:
    """Return the slot of a flow that is complete and has no packet in the network."""
    flow = flows_of(state)[slot]
    leave_connection(state, slot)
    flow.id = NONE
    flow.free = state.free_flow
    state.free_flow = slot
    state.free_flows += 1
    state.active -= 1


@compile_inlined
def join_connection(state: Any, slot: Any, follows: Any) -> None:
    """Add a flow to the ring of the flow that was started before it, or begin a ring."""
    flow = flows_of(state)[slot]
    flow.sibling = slot
    if follows:
        flow.sibling = flows_of(state)[state.last_slot].sibling
        flows_of(state)[state.last_slot].sibling = slot
    state.last_slot = slot


@compile_inlined
def leave_connection(state: Any, slot: Any) -> None:
    """Remove a flow from the ring of its connection."""
    before = slot
    while flows_of(state)[before].sibling != slot:
        before = flows_of(state)[before].sibling
    flows_of(state)[before].sibling = flows_of(state)[slot].sibling


@compile_loop
def drop_packet(state: Any, index: Any) -> None:
    """Remove a packet from the network and count that with its flow."""
    outcomes_of(state)[flows_of(state)[packets_of(state)[index].flow].id].dropped += 1
    release_packet(state, index)


@compile_inlined
def append_to_link(state: Any, number: Any, index: Any) -> Any:
    """Add a packet to those on a link; return the entry of a link that was idle, else 0."""
    link = links_of(state)[number]
    packet = packets_of(state)[index]
    packet.next = NONE
    if link.head == NONE:
        link.head = index
        link.tail = index
        return (packet.time << state.link_bits) | number
    packets_of(state)[link.tail].next = index
    link.tail = index
    return 0


@compile_inlined
def refuse_or_mark(link: Any, packet: Any, wait: Any) -> Any:
    """Mark a packet that waits for too long; return whether it has to be dropped instead."""
    if wait <= link.mark_above:
        return False
    if packet.markable:
        packet.marked = 1
        link.marked += 1
        return False
    return link.drop_unmarkable == 1
