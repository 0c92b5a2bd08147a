"""Receive offload that hides reordering between flowcells (He et al., Presto, 3.2).

Packets of one flowcell use one path, so a gap within it is a loss and shows at once. A gap at its
end may be a cell on a slower path: later packets are held until it closes, or for twice the mean
time that gaps took to close.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop
from simulator.packets.arrays import flows_of, packets_of
from simulator.packets.layout import NONE

_LONGEST_IN_MEANS = 2
_WEIGHT = 1 / 8


@compile_loop
def hold_packet(state: Any, slot: Any, index: Any) -> Any:
    """Hold a recorded packet if it may have overtaken others; return whether it is held."""
    flow = flows_of(state)[slot]
    packet = packets_of(state)[index]
    if flow.early > 0 and packet.number > flow.received:
        if packet.cell == flow.in_order_cell or _has_waited(state, flow):
            flow.releases = 1
            return False
        _append(state, flow, index)
        return True
    flow.in_order_cell = max(flow.in_order_cell, np.int64(packet.cell))
    if flow.early == 0 and flow.held_first != NONE:
        flow.gap_mean += (state.now - flow.gap_since - flow.gap_mean) * _WEIGHT
        flow.releases = 1
    # A cell that still arrives makes those behind it wait again.
    flow.waits_since = state.now
    return False


@compile_loop
def _has_waited(state: Any, flow: Any) -> Any:
    """Return whether the first held packet has waited for too long."""
    if flow.held_first == NONE:
        flow.gap_since = state.now
        flow.waits_since = state.now
        return False
    return state.now - flow.waits_since > _LONGEST_IN_MEANS * flow.gap_mean


@compile_loop
def _append(state: Any, flow: Any, index: Any) -> None:
    packets = packets_of(state)
    packets[index].next = NONE
    if flow.held_first == NONE:
        flow.held_first = index
    else:
        packets[flow.held_last].next = index
    flow.held_last = index


@compile_loop
def remove_held(state: Any, slot: Any) -> Any:
    """Remove and return the first held packet."""
    flow = flows_of(state)[slot]
    index = flow.held_first
    packet = packets_of(state)[index]
    flow.held_first = packet.next
    if flow.early == 0:
        flow.in_order_cell = max(flow.in_order_cell, np.int64(packet.cell))
    if flow.held_first == NONE:
        flow.releases = 0
    return index
