"""Routes of packets, computed from the numbers of hosts, and the choice among equal paths.

A route is a row of link numbers that ends with ``NONE``. Links of a three-level network (a fat-tree
is one) are numbered level by level: host to edge, edge to aggregation, aggregation to core, core to
aggregation, aggregation to edge, edge to host. A two-level network has no core.
"""

from typing import Any

import numpy as np

from core.jit import compile_division, compile_inlined
from simulator.packets.arrays import (
    explicit_of,
    flow_routes_of,
    flows_of,
    packets_of,
    path_choices_of,
    path_first_of,
    routes_of,
)
from simulator.packets.layout import (
    DATA,
    ECMP,
    EXPLICIT,
    FLOWCELL,
    FLOWLET,
    NONE,
    ROUTE_LENGTH,
    SPRAY,
    TWO_LEVEL,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX, _SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)


@compile_inlined
def mix_bits(value: Any) -> Any:
    """Return a hash of 64 bits (splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * _FIRST_MIX
    value = (value ^ (value >> np.uint64(27))) * _SECOND_MIX
    return value ^ (value >> np.uint64(31))


@compile_inlined
def hash_pair(seed: Any, first: Any, second: Any) -> Any:
    """Return a hash of two numbers under a seed."""
    value = mix_bits(seed + np.uint64(first) * _GOLDEN)
    return mix_bits(value + np.uint64(second) * _GOLDEN + np.uint64(1))


@compile_inlined
def scale_hash(value: Any, n: Any) -> Any:
    """Return a number below ``n`` from the upper bits of a hash."""
    return np.int64(((value >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@compile_division
def _choose_path(state: Any, source: Any, destination: Any, number: Any) -> Any:
    """Return the path of a number among those that two edge switches may use, round robin."""
    if state.choices == 0:
        return number % (state.uplinks * max(state.cores, 1))
    pair = source * state.edges + destination
    first = path_first_of(state)[pair]
    return path_choices_of(state)[first + number % (path_first_of(state)[pair + 1] - first)]


@compile_division
def _fill_upper_hops(state: Any, route: Any, number: Any, edges: Any) -> Any:
    """Add the links between two different edge switches; return the number of links."""
    source, destination = edges
    path = _choose_path(state, source, destination, number)
    up = state.hosts
    if state.kind == TWO_LEVEL:
        n = state.edges * state.uplinks
        route[1] = up + source * state.uplinks + path
        route[2] = up + n + destination * state.uplinks + path
        return 3
    aggregation = path % state.uplinks
    n = state.edges * state.uplinks
    route[1] = up + source * state.uplinks + aggregation
    from_pod = source // state.edges_per_pod
    to_pod = destination // state.edges_per_pod
    n_core = state.edges // state.edges_per_pod * state.uplinks * state.cores
    down = up + n + 2 * n_core + destination * state.uplinks + aggregation
    if from_pod == to_pod:
        route[2] = down
        return 3
    core = aggregation * state.cores + path // state.uplinks
    route[2] = up + n + from_pod * state.uplinks * state.cores + core
    route[3] = up + n + n_core + to_pod * state.uplinks * state.cores + core
    route[4] = down
    return 5


@compile_division
def fill_route(state: Any, route: Any, number: Any, hosts: Any) -> None:
    """Write the route from one host to another over the path of a number."""
    source, destination = hosts
    route[0] = source
    edges = (source // state.hosts_per_edge, destination // state.hosts_per_edge)
    n = 1 if edges[0] == edges[1] else _fill_upper_hops(state, route, number, edges)
    levels = 2 if state.kind == TWO_LEVEL else 4
    route[n] = destination + state.hosts + _count_upper_links(state, levels)
    route[n + 1] = NONE


@compile_division
def _count_upper_links(state: Any, levels: Any) -> Any:
    n = 2 * state.edges * state.uplinks
    if levels == 2:
        return n
    pods = state.edges // state.edges_per_pod
    return n + 2 * pods * state.uplinks * state.cores


@compile_division
def fill_flow_routes(state: Any, slot: Any) -> None:
    """Write the routes of a flow in both directions that hold for all of its packets under ECMP.

    The two directions are hashed independently, as switches do with a connection.
    """
    flow = flows_of(state)[slot]
    for direction in range(2):
        route = flow_routes_of(state)[slot, direction]
        if state.kind == EXPLICIT:
            route[:] = explicit_of(state)[flow.id, direction]
            continue
        number = np.int64(hash_pair(state.seed, flow.id, direction) >> np.uint64(33))
        hosts = (flow.source, flow.destination)
        fill_route(state, route, number, hosts if direction == 0 else (hosts[1], hosts[0]))


@compile_inlined
def route_packet(state: Any, index: Any, slot: Any, direction: Any) -> None:
    """Write the route of a packet (direction 0) or an acknowledgement (1)."""
    route = routes_of(state)[index]
    if state.paths == ECMP or state.kind == EXPLICIT:
        copied = flow_routes_of(state)[slot, direction]
        for hop in range(ROUTE_LENGTH):
            route[hop] = copied[hop]
    else:
        _route_singly(state, index, slot, direction)


@compile_division
def _route_singly(state: Any, index: Any, slot: Any, direction: Any) -> None:
    """Choose the path of one packet: at random, by flowlet or by flowcell."""
    flow = flows_of(state)[slot]
    key = _key_of_path(state, flow, packets_of(state)[index].size, direction)
    number = np.int64(hash_pair(state.seed, flow.id, key) >> np.uint64(33))
    if state.paths == FLOWCELL and direction == 0:
        number = np.int64(hash_pair(state.seed, flow.id, DATA) >> np.uint64(33)) + flow.cell
    if direction == 0:
        fill_route(state, routes_of(state)[index], number, (flow.source, flow.destination))
    else:
        fill_route(state, routes_of(state)[index], number, (flow.destination, flow.source))


@compile_division
def _key_of_path(state: Any, flow: Any, size: Any, direction: Any) -> Any:
    """Return what the path is hashed from: it changes with each packet, flowlet or flowcell."""
    if state.paths == SPRAY:
        flow.transmissions += 1
        return 2 + flow.transmissions
    if direction == 1:
        return 1
    if state.paths == FLOWLET:
        if state.now - flow.last_sent > state.flowlet_gap:
            flow.cell += 1
        flow.last_sent = state.now
        return 2 + flow.cell
    flow.cell_bytes += size
    if flow.cell_bytes > state.cell_size:
        flow.cell_bytes = size
        flow.cell += 1
    return 2 + flow.cell
