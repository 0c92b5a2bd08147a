"""Priorities of packets: that of their flow, or by a token bucket per source and destination.

A pair of hosts with traffic within rate and burst is tagged for the upper priority; once it
does not, its packets have the lower one until the next check (He et al., Small is Better, 4.3).
"""

from typing import Any

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import buckets_of, flows_of
from simulator.packets.layout import BY_FLOW


@compile_inlined
def choose_priority(state: Any, source: Any, destination: Any, packet: Any) -> Any:
    """Return the priority of a packet from a host to another one."""
    if state.priorities == 1:
        return 0
    if state.tagging == BY_FLOW:
        return min(flows_of(state)[packet.flow].priority, state.priorities - 1)
    return _meter(state, buckets_of(state)[source * state.hosts + destination], packet.size)


@compile_loop
def _meter(state: Any, bucket: Any, size: Any) -> Any:
    """Return 1 if there are enough tokens and the pair was not classified as large, else 0."""
    now = state.now
    bucket.tokens += (now - bucket.updated) * state.bucket_rate
    bucket.tokens = min(bucket.tokens, state.bucket_burst)
    bucket.updated = now
    if bucket.tokens < size:
        bucket.low_until = now + state.recheck
        return 0
    bucket.tokens -= size
    return 1 if now >= bucket.low_until else 0
