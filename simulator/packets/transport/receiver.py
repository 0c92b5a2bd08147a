"""The receiver of a flow, which acknowledges each packet as soon as it arrives."""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import arrivals_of, flows_of, outcomes_of, packets_of, transports_of
from simulator.packets.forwarding import route_packet
from simulator.packets.layout import NONE, OPEN_LOOP, REPLY
from simulator.packets.ports.links import release_packet
from simulator.packets.ports.output import send
from simulator.packets.tagging import choose_priority
from simulator.packets.transport.resequencing import hold_packet, remove_held


@compile_loop
def receive_data(state: Any, index: Any) -> None:
    """Record a packet that has arrived, and send it back as its acknowledgement."""
    packet = packets_of(state)[index]
    slot = np.int64(packet.flow)
    flow = flows_of(state)[slot]
    outcome = outcomes_of(state)[flow.id]
    outcome.marked += packet.marked
    if _record_arrival(state, slot, np.int64(packet.number), outcome):
        if state.now >= state.warm_up:
            outcome.bytes += packet.size - state.header
        if flow.received == flow.n_packets:
            outcome.finish = state.now
    transport = transports_of(state)[flow.transport]
    if transport.congestion_control == OPEN_LOOP:
        release_packet(state, index)
    elif transport.resequences == 0 or not hold_packet(state, slot, index):
        while flow.releases == 1 and flow.held_first != NONE:
            _acknowledge(state, remove_held(state, slot), slot)
        _acknowledge(state, index, slot)


@compile_inlined
def _record_arrival(state: Any, slot: Any, number: Any, outcome: Any) -> Any:
    """Return whether a packet was not received before."""
    flow = flows_of(state)[slot]
    if flow.early == 0 and number == flow.received:
        flow.received += 1
        return True
    if number < flow.received:
        return False
    return _record_early(state, slot, number, outcome)


@compile_loop
def _record_early(state: Any, slot: Any, number: Any, outcome: Any) -> Any:
    """Record a packet above a gap, or one that closes a gap."""
    flow = flows_of(state)[slot]
    arrivals = arrivals_of(state, slot)
    mask = state.window - 1
    if arrivals[number & mask]:
        return False
    arrivals[number & mask] = 1
    flow.early += 1
    outcome.reordered += number > flow.received
    while arrivals[flow.received & mask]:
        arrivals[flow.received & mask] = 0
        flow.early -= 1
        flow.received += 1
    return True


@compile_inlined
def _acknowledge(state: Any, index: Any, slot: Any) -> None:
    packet = packets_of(state)[index]
    flow = flows_of(state)[slot]
    packet.acknowledges = 1
    packet.cumulative = flow.received
    packet.echo = packet.marked
    packet.marked = 0
    packet.size = state.reply
    packet.hop = 0
    packet.priority = choose_priority(state, flow.destination, flow.source, packet)
    route_packet(state, index, slot, REPLY)
    send(state, index)
