"""The event loop: starts of flows, retransmission timers, and arrivals of packets at link ends."""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import (
    demand_of,
    links_heap_of,
    links_of,
    packets_of,
    routes_of,
    timers_heap_of,
)
from simulator.packets.heap import push, remove_first, replace_first
from simulator.packets.layout import (
    FIFO,
    FINISHED,
    IDLE,
    NEVER,
    NO_FLOW_SLOTS,
    NO_PACKET_SLOTS,
    NO_TIMER_SLOTS,
    NONE,
    PAUSED,
)
from simulator.packets.ports.output import enqueue
from simulator.packets.ports.scheduled import serve_port
from simulator.packets.samples import record_backlogs
from simulator.packets.transport.receiver import receive_data
from simulator.packets.transport.sender import (
    expire_timer,
    receive_acknowledgement,
    start_flow,
)
from simulator.packets.transport.timers import next_expired


@compile_loop
def run_events(states: Any, most: Any) -> Any:
    """Run about ``most`` events; return FINISHED, PAUSED, or which array is too small to continue.

    ``states`` has one record, of STATE.
    """
    state = states[0]
    last = state.events + most
    while state.events < last:
        missing = _find_missing(state)
        if missing != FINISHED:
            return missing
        timer = _next_timer(state)
        start = _next_start(state)
        limit = min(timer, start, state.next_sample, state.end)
        _forward_until(state, limit, last)
        if state.busy_links > 0 and links_heap_of(state)[0] >> state.link_bits < limit:
            continue
        if state.active == 0 and start == NEVER:
            return FINISHED
        if limit >= state.end:
            state.now = state.end
            return FINISHED
        state.now = limit
        state.events += 1
        _run_other_event(state, start)
    return PAUSED


@compile_loop
def _run_other_event(state: Any, start: Any) -> None:
    """Record a sample, start a flow or serve a timer, of those that are due in this order."""
    if state.now == state.next_sample:
        record_backlogs(state)
    elif state.now == start:
        start_flow(state)
    else:
        slot = next_expired(state)
        if slot != NONE:
            expire_timer(state, slot)


@compile_inlined
def _find_missing(state: Any) -> Any:
    """Return which array could be too small for the next event, or FINISHED."""
    if state.free_packets <= state.window:
        return NO_PACKET_SLOTS
    if state.free_flows == 0 and state.next_flow < state.n_flows:
        return NO_FLOW_SLOTS
    if state.timers + 8 > state.timer_places:
        return NO_TIMER_SLOTS
    return FINISHED


@compile_inlined
def _next_timer(state: Any) -> Any:
    if state.timers == 0:
        return NEVER
    return (timers_heap_of(state)[0] >> state.timer_bits) * state.timer_tick


@compile_inlined
def _next_start(state: Any) -> Any:
    number = state.next_flow
    return demand_of(state)[number].start if number < state.n_flows else NEVER


@compile_inlined
def _forward_until(state: Any, limit: Any, last: Any) -> None:
    """Forward packets up to a time; a packet that arrives at a host ends it."""
    bits = state.link_bits
    while state.busy_links > 0 and state.events < last:
        entry = links_heap_of(state)[0]
        if entry >> bits >= limit:
            return
        state.now = entry >> bits
        state.events += 1
        state.traversals += 1
        number = entry & ((1 << bits) - 1)
        index = _remove_arrived(state, number)
        packet = packets_of(state)[index]
        packet.hop += 1
        target = np.int64(routes_of(state)[index, packet.hop])
        if target == NONE:
            _replace_entry(state, number, IDLE)
            if packet.acknowledges:
                receive_acknowledgement(state, index)
            else:
                receive_data(state, index)
            return
        _replace_entry(state, number, enqueue(state, target, index))


@compile_inlined
def _remove_arrived(state: Any, number: Any) -> Any:
    """Remove and return the packet that has arrived at the end of a link."""
    link = links_of(state)[number]
    if link.policy != FIFO:
        serve_port(state, number, state.now)
    index = link.head
    link.head = packets_of(state)[index].next
    link.delivered += 1
    return index


@compile_inlined
def _replace_entry(state: Any, number: Any, added: Any) -> None:
    """Replace the first heap entry, of a link, by its next one; add that of another link."""
    head = links_of(state)[number].head
    if head != NONE:
        entry = (packets_of(state)[head].time << state.link_bits) | number
        replace_first(links_heap_of(state), state.busy_links, entry)
        if added != 0:
            push(links_heap_of(state), state.busy_links, added)
            state.busy_links += 1
    elif added != 0:
        replace_first(links_heap_of(state), state.busy_links, added)
    else:
        remove_first(links_heap_of(state), state.busy_links)
        state.busy_links -= 1
