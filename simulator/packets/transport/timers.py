"""Retransmission timers: one valid heap entry per flow, which is moved when it is early.

A deadline that moves to a later time, as it does with nearly each acknowledgement, costs nothing.
"""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import flows_of, timers_heap_of, transports_of
from simulator.packets.heap import push, remove_first, replace_first
from simulator.packets.layout import NEVER, NONE, OPEN


@compile_inlined
def update_rtt(flow: Any, rtt: Any) -> None:
    """Update the smoothed round-trip time and its variation (RFC 6298)."""
    if flow.smoothed == 0:
        flow.smoothed = rtt
        flow.variation = rtt / 2
        return
    error = rtt - flow.smoothed
    flow.variation += (abs(error) - flow.variation) / 4
    flow.smoothed += error / 8


@compile_inlined
def restart_timer(state: Any, slot: Any) -> None:
    """Set the deadline of a flow from now."""
    flow = flows_of(state)[slot]
    flow.waits = 0
    transport = transports_of(state)[flow.transport]
    timeout = transport.initial_timeout
    if flow.smoothed > 0:
        timeout = max(np.int64(flow.smoothed + 4 * flow.variation), transport.minimum_timeout)
    timeout = min(timeout << flow.backoff, transport.maximum_timeout)
    flow.probes = 0
    if transport.tail_probe > 0 and flow.backoff == 0 and flow.state == OPEN:
        probe = max(np.int64(2 * flow.smoothed), transport.tail_probe)
        flow.probes = probe < timeout
        timeout = min(probe, timeout)
    set_deadline(state, slot, state.now + timeout)


@compile_inlined
def set_deadline(state: Any, slot: Any, time: Any) -> None:
    """Set the deadline of a flow."""
    flow = flows_of(state)[slot]
    flow.deadline = time
    if time < flow.timer:
        _push_timer(state, slot)


@compile_loop
def _push_timer(state: Any, slot: Any) -> None:
    flow = flows_of(state)[slot]
    tick = flow.deadline // state.timer_tick + 1
    if flow.timer > tick * state.timer_tick:
        flow.timer = tick * state.timer_tick
        push(timers_heap_of(state), state.timers, (tick << state.timer_bits) | slot)
        state.timers += 1


@compile_loop
def next_expired(state: Any) -> Any:
    """Serve the first entry; return the slot of a flow with an expired timer, or NONE."""
    entry = timers_heap_of(state)[0]
    slot = entry & ((1 << state.timer_bits) - 1)
    flow = flows_of(state)[slot]
    if flow.timer != state.now:
        return _remove(state, NONE)
    flow.timer = NEVER
    if flow.id == NONE or flow.una == flow.n_packets:
        return _remove(state, NONE)
    if flow.deadline > state.now:
        tick = flow.deadline // state.timer_tick + 1
        flow.timer = tick * state.timer_tick
        replace_first(timers_heap_of(state), state.timers, (tick << state.timer_bits) | slot)
        return NONE
    return _remove(state, slot)


@compile_loop
def _remove(state: Any, slot: Any) -> Any:
    remove_first(timers_heap_of(state), state.timers)
    state.timers -= 1
    return slot
