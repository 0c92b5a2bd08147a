"""Views of the arrays of a simulation, for compiled loops, which are given the state alone."""

from typing import Any

import numpy as np

from core.jit import Imported, compile_inlined
from simulator.packets.layout import (
    BUCKET,
    DEMAND,
    FLOW,
    LINK,
    OUTCOME,
    PACKET,
    QUEUE,
    ROUTE_LENGTH,
    SESSION,
    SWITCH,
    TRANSPORT,
)

view_array: Any = Imported("core.native.memory_views", "view_array")
# More rows than any array has: the loops know which ones exist.
MANY = 2**40


@compile_inlined
def links_of(state: Any) -> Any:
    """Return the links: LINK."""
    return view_array(state.links, (MANY,), LINK)


@compile_inlined
def queues_of(state: Any) -> Any:
    """Return the queues, by link and priority: QUEUE."""
    return view_array(state.queues, (MANY, 2), QUEUE)


@compile_inlined
def switches_of(state: Any) -> Any:
    """Return the shared buffers: SWITCH."""
    return view_array(state.switches, (MANY,), SWITCH)


@compile_inlined
def backlogged_of(state: Any) -> Any:
    """Return the backlogged ports, by switch."""
    return view_array(state.backlogged, (MANY, state.most_ports), np.int32)


@compile_inlined
def packets_of(state: Any) -> Any:
    """Return the packets: PACKET."""
    return view_array(state.packets, (MANY,), PACKET)


@compile_inlined
def routes_of(state: Any) -> Any:
    """Return the routes, by packet: links, then NONE."""
    return view_array(state.routes, (MANY, ROUTE_LENGTH), np.int32)


@compile_inlined
def flows_of(state: Any) -> Any:
    """Return the slots of flows: FLOW."""
    return view_array(state.flows, (MANY,), FLOW)


@compile_inlined
def flow_routes_of(state: Any) -> Any:
    """Return the routes, by slot and direction."""
    return view_array(state.flow_routes, (MANY, 2, ROUTE_LENGTH), np.int32)


@compile_inlined
def transports_of(state: Any) -> Any:
    """Return the transports: TRANSPORT."""
    return view_array(state.transports, (MANY,), TRANSPORT)


@compile_inlined
def demand_of(state: Any) -> Any:
    """Return the flows in order of start: DEMAND."""
    return view_array(state.demand, (MANY,), DEMAND)


@compile_inlined
def outcomes_of(state: Any) -> Any:
    """Return the results, by flow: OUTCOME."""
    return view_array(state.outcome, (MANY,), OUTCOME)


@compile_inlined
def sessions_of(state: Any) -> Any:
    """Return the sessions: SESSION."""
    return view_array(state.sessions, (MANY,), SESSION)


@compile_inlined
def links_heap_of(state: Any) -> Any:
    """Return the heap of busy links."""
    return view_array(state.links_heap, (MANY,), np.int64)


@compile_inlined
def timers_heap_of(state: Any) -> Any:
    """Return the heap of timers."""
    return view_array(state.timers_heap, (MANY,), np.int64)


@compile_inlined
def buckets_of(state: Any) -> Any:
    """Return the token buckets, by source and destination: BUCKET."""
    return view_array(state.buckets, (MANY,), BUCKET)


@compile_inlined
def path_first_of(state: Any) -> Any:
    """Return the first choice of paths, by pair of edge switches."""
    return view_array(state.path_first, (MANY,), np.int64)


@compile_inlined
def path_choices_of(state: Any) -> Any:
    """Return the choices of paths."""
    return view_array(state.path_choices, (MANY,), np.int32)


@compile_inlined
def explicit_of(state: Any) -> Any:
    """Return the routes of a network of any shape, by flow and direction."""
    return view_array(state.explicit, (MANY, 2, ROUTE_LENGTH), np.int32)


@compile_inlined
def losses_of(state: Any) -> Any:
    """Return the scripted losses: (flow, packet)."""
    return view_array(state.losses, (MANY, 2), np.int64)


@compile_inlined
def rtts_of(state: Any) -> Any:
    """Return the round-trip times: (time, flow, rtt)."""
    return view_array(state.rtts, (MANY, 3), np.float64)


@compile_inlined
def watched_of(state: Any) -> Any:
    """Return the links with samples."""
    return view_array(state.watched, (MANY,), np.int32)


@compile_inlined
def backlog_of(state: Any) -> Any:
    """Return the backlogs in bytes, by sample and watched link."""
    return view_array(state.backlog, (MANY, state.n_watched), np.int64)


@compile_inlined
def sacks_of(state: Any, slot: Any) -> Any:
    """Return the packets of a slot's window that were acknowledged singly, modulo the window."""
    return view_array(state.sacks + slot * state.window, (MANY,), np.uint8)


@compile_inlined
def arrivals_of(state: Any, slot: Any) -> Any:
    """Return the packets of a slot's window that were received early, modulo the window."""
    return view_array(state.arrivals + slot * state.window, (MANY,), np.uint8)
