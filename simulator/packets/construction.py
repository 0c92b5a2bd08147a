"""Build the arrays of a simulation from its settings, and enlarge them while it is paused."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from simulator.packets import layout
from simulator.packets.heap import create_heap
from simulator.packets.layout import NEVER, NONE
from simulator.packets.networks import Network, find_routes
from simulator.packets.settings import (
    CONGESTION_CONTROLS,
    PATHS,
    RECOVERIES,
    PortSettings,
    Run,
    Transport,
)
from simulator.packets.traffic import Flows

_FLOW_SLOTS, _PACKET_SLOTS, _TIMER_SLOTS = 64, 4096, 512
# Bits of the number of a flow slot in the heap of timers.
_TIMER_BITS = 22


class Arrays(NamedTuple):
    """The arrays of a simulation; the state has their addresses."""

    state: NDArray[Any]  # STATE, one record
    links: NDArray[Any]  # LINK
    queues: NDArray[Any]  # QUEUE, by link and priority
    switches: NDArray[Any]  # SWITCH
    backlogged: NDArray[np.int32]  # by switch: its backlogged ports
    packets: NDArray[Any]  # PACKET
    routes: NDArray[np.int32]  # by packet: links, then NONE
    flows: NDArray[Any]  # FLOW, by slot
    flow_routes: NDArray[np.int32]  # by slot and direction
    sacks: NDArray[np.uint8]  # by slot: packets of the window that were acknowledged singly
    arrivals: NDArray[np.uint8]  # by slot: packets of the window that were received early
    transports: NDArray[Any]  # TRANSPORT
    demand: NDArray[Any]  # DEMAND, by flow, in order of start
    outcome: NDArray[Any]  # OUTCOME, by flow
    sessions: NDArray[Any]  # SESSION
    links_heap: NDArray[np.int64]
    timers_heap: NDArray[np.int64]
    buckets: NDArray[Any]  # BUCKET, by source and destination
    path_first: NDArray[np.int64]  # by pair of edge switches
    path_choices: NDArray[np.int32]
    explicit: NDArray[np.int32]  # by flow and direction: links, then NONE
    losses: NDArray[np.int64]  # scripted: (flow, packet), removed when done
    rtts: NDArray[np.float64]  # (time, flow, rtt)
    watched: NDArray[np.int32]  # links with samples of their backlog
    backlog: NDArray[np.int64]  # by sample and watched link, bytes


def to_ps(seconds: float) -> int:
    """Convert seconds to whole picoseconds; infinite ones to ``NEVER``."""
    return NEVER if math.isinf(seconds) else round(seconds * layout.PS_PER_S)


def build_arrays(
    network: Network, flows: Flows, transports: list[Transport], ports: PortSettings, run: Run
) -> tuple[Arrays, NDArray[np.int64]]:
    """Build the arrays, and the order in which they hold the flows: that of their starts."""
    order = np.argsort(flows.starts_s, kind="stable")
    links = _build_links(network, ports)
    n_links = len(links)
    window = 1 << max(t.max_window for t in transports).bit_length()
    demand = _build_demand(flows, order)
    _check_open_loop(demand, transports, run, window)
    first, paths = _build_choices(network)
    samples = _count_samples(run)
    n_switches = int(network.switches.max()) + 1
    arrays = Arrays(
        state=_build_state(network, ports, run),
        links=links,
        queues=_build_queues(n_links, ports),
        switches=_build_switches(n_switches, ports),
        backlogged=np.zeros((n_switches, _most_ports(network)), np.int32),
        packets=np.zeros(0, layout.PACKET),
        routes=np.zeros((0, layout.ROUTE_LENGTH), np.int32),
        flows=np.zeros(0, layout.FLOW),
        flow_routes=np.zeros((0, 2, layout.ROUTE_LENGTH), np.int32),
        sacks=np.zeros((0, window), np.uint8),
        arrivals=np.zeros((0, window), np.uint8),
        transports=_build_transports(transports),
        demand=demand,
        outcome=_build_outcome(len(flows)),
        sessions=np.zeros(int(flows.sessions.max(initial=-1)) + 1, layout.SESSION),
        links_heap=create_heap(n_links),
        timers_heap=create_heap(_TIMER_SLOTS),
        buckets=_build_buckets(network, ports),
        path_first=first,
        path_choices=paths,
        explicit=_build_explicit(network, demand),
        losses=_order_losses(run, order),
        rtts=np.zeros((run.rtt_samples, 3)),
        watched=np.array(run.watched_links, np.int32),
        backlog=np.zeros((samples, len(run.watched_links)), np.int64),
    )
    sizes = {
        "n_flows": len(demand),
        "n_losses": len(run.losses),
        "n_watched": len(run.watched_links),
        "rtt_places": run.rtt_samples,
        "most_ports": arrays.backlogged.shape[1],
        "window": window,
    }
    for name, value in sizes.items():
        arrays.state[name] = value
    arrays = _with_packets(arrays, max(_PACKET_SLOTS, 4 * window))
    return _register(_with_flows(arrays, _FLOW_SLOTS)), order


def enlarge(arrays: Arrays, status: int) -> Arrays:
    """Return the arrays with twice the places of what was too small."""
    if status == layout.NO_PACKET_SLOTS:
        return _register(_with_packets(arrays, 2 * len(arrays.packets)))
    if status == layout.NO_FLOW_SLOTS:
        return _register(_with_flows(arrays, 2 * len(arrays.flows)))
    timers = create_heap(2 * len(arrays.timers_heap))
    timers[: len(arrays.timers_heap)] = arrays.timers_heap
    return _register(arrays._replace(timers_heap=timers))


def _register(arrays: Arrays) -> Arrays:
    """Write the addresses of all arrays into the state, by which the compiled loops find them."""
    state = arrays.state
    for name in arrays._fields[1:]:
        state[name] = getattr(arrays, name).ctypes.data
    state["timer_places"] = len(arrays.timers_heap)
    return arrays


def _lengthen(old: NDArray[Any], n: int) -> NDArray[Any]:
    new = np.zeros((n, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def _with_packets(arrays: Arrays, n: int) -> Arrays:
    old = len(arrays.packets)
    packets = _lengthen(arrays.packets, n)
    packets["next"][old:] = np.arange(old + 1, n + 1)
    state = arrays.state[0]
    packets["next"][n - 1] = state["free_packet"] if old else NONE
    state["free_packet"] = old
    state["free_packets"] += n - old
    return arrays._replace(packets=packets, routes=_lengthen(arrays.routes, n))


def _with_flows(arrays: Arrays, n: int) -> Arrays:
    if n > 1 << _TIMER_BITS:
        raise BadInput(f"more than {1 << _TIMER_BITS} flows are active at once", field="flows")
    old = len(arrays.flows)
    flows = _lengthen(arrays.flows, n)
    flows["free"][old:] = np.arange(old + 1, n + 1)
    flows["timer"][old:] = NEVER
    flows["id"][old:] = NONE
    state = arrays.state[0]
    flows["free"][n - 1] = state["free_flow"] if old else NONE
    state["free_flow"] = old
    state["free_flows"] += n - old
    return arrays._replace(
        flows=flows,
        flow_routes=_lengthen(arrays.flow_routes, n),
        sacks=_lengthen(arrays.sacks, n),
        arrivals=_lengthen(arrays.arrivals, n),
    )


def _build_state(network: Network, ports: PortSettings, run: Run) -> NDArray[Any]:
    state = np.zeros(1, layout.STATE)
    bucket, codel, sampled = ports.tagging, ports.codel, bool(run.watched_links)
    values = {
        "end": NEVER if run.duration_s is None else to_ps(run.duration_s),
        "warm_up": to_ps(run.warm_up_s),
        "seed": run.seed,
        "link_bits": len(network.rates_bps).bit_length(),
        "timer_bits": _TIMER_BITS,
        "timer_tick": to_ps(run.timer_tick_s),
        "kind": network.kind,
        "hosts_per_edge": network.hosts_per_edge,
        "edges": network.edges,
        "edges_per_pod": network.edges_per_pod,
        "uplinks": network.uplinks,
        "cores": network.cores,
        "hosts": network.hosts,
        "choices": bool(network.choices),
        "segment": run.segment_bytes,
        "header": run.header_bytes,
        "reply": run.reply_bytes,
        "paths": PATHS[run.forwarding.paths],
        "flowlet_gap": to_ps(run.forwarding.flowlet_gap_s),
        "cell_size": run.forwarding.flowcell_bytes,
        "priorities": ports.priorities,
        "tagging": layout.BY_FLOW if bucket is None else layout.BY_TOKEN_BUCKET,
        "bucket_rate": 0 if bucket is None else bucket.rate_bps / 8 / layout.PS_PER_S,
        "bucket_burst": 0 if bucket is None else bucket.burst_bytes,
        "recheck": 0 if bucket is None else to_ps(bucket.recheck_s),
        "codel": codel is not None,
        "codel_marks": codel is not None and codel.marks,
        "codel_target": 0 if codel is None else to_ps(codel.target_s),
        "codel_interval": 0 if codel is None else to_ps(codel.interval_s),
        "sample_period": to_ps(run.sample_period_s),
        "next_sample": to_ps(run.sample_period_s) if sampled else NEVER,
        "rtt_stride": 1,
    }
    for name, value in values.items():
        state[name] = value
    return state


def _build_links(network: Network, ports: PortSettings) -> NDArray[Any]:
    links = np.zeros(len(network.rates_bps), layout.LINK)
    links["ps_per_byte"] = network.ps_per_byte
    links["delay"] = np.rint(network.delays_s * layout.PS_PER_S).astype(np.int64)
    links["head"] = links["tail"] = links["position"] = links["switch"] = NONE
    host = network.switches == NONE
    for name, at_switch, at_host in (
        ("mark_above", ports.mark_above_bytes, None),
        ("drop_above", ports.queue_bytes, ports.host_queue_bytes),
    ):
        links[name] = np.where(host, _in_time(links, at_host), _in_time(links, at_switch))
    links["drop_unmarkable"] = ports.drop_without_ecn
    if ports.is_scheduled:
        links["policy"] = layout.SCHEDULED
        links["policy"][host] = layout.SCHEDULED if ports.host_priorities else layout.FIFO
    if ports.shared_buffer_bytes is not None:
        links["switch"] = network.switches
    return links


def _in_time(links: NDArray[Any], limit_bytes: int | None) -> NDArray[np.int64]:
    """Convert a limit in bytes to the time that it takes to transmit them."""
    if limit_bytes is None:
        return np.full(len(links), NEVER)
    return np.asarray(limit_bytes * links["ps_per_byte"], np.int64)


def _build_queues(n_links: int, ports: PortSettings) -> NDArray[Any]:
    queues = np.zeros((n_links if ports.is_scheduled else 1, 2), layout.QUEUE)
    queues["head"] = queues["tail"] = NONE
    return queues


def _build_switches(n: int, ports: PortSettings) -> NDArray[Any]:
    switches = np.zeros(n, layout.SWITCH)
    switches["size"] = ports.shared_buffer_bytes or 0
    switches["alpha"] = ports.shared_alpha
    return switches


def _most_ports(network: Network) -> int:
    """Count the ports of the switch with the most ports."""
    return int(np.bincount(network.switches + 1)[1:].max(initial=1))


def _build_transports(transports: list[Transport]) -> NDArray[Any]:
    built = np.zeros(len(transports), layout.TRANSPORT)
    for row, transport in zip(built, transports, strict=True):
        row["congestion_control"] = CONGESTION_CONTROLS[transport.congestion_control]
        row["recovery"] = RECOVERIES[transport.recovery]
        row["markable"] = transport.markable
        row["edge"] = transport.edge_window
        row["resequences"] = transport.resequencing
        row["undoes"] = transport.undo_late
        row["initial_gap"] = to_ps(transport.reordering_gap_s)
        row["tail_probe"] = to_ps(transport.tail_probe_s or 0)
        row["small_queue"] = transport.small_queue_bytes or 0
        row["initial_window"] = transport.initial_window
        row["max_window"] = transport.max_window
        row["minimum_window"] = transport.minimum_window
        row["initial_threshold"] = min(transport.initial_threshold, transport.max_window)
        row["duplicates"] = transport.duplicate_threshold
        row["gain"] = transport.gain
        row["initial_alpha"] = transport.initial_alpha
        row["minimum_timeout"] = to_ps(transport.minimum_timeout_s)
        row["initial_timeout"] = to_ps(transport.initial_timeout_s)
        row["maximum_timeout"] = to_ps(transport.maximum_timeout_s)
    return built


def _build_demand(flows: Flows, order: NDArray[np.int64]) -> NDArray[Any]:
    demand = np.zeros(len(flows), layout.DEMAND)
    demand["start"] = np.rint(flows.starts_s[order] * layout.PS_PER_S).astype(np.int64)
    demand["size"] = flows.sizes_bytes[order]
    demand["source"] = flows.sources[order]
    demand["destination"] = flows.destinations[order]
    demand["transport"] = flows.transports[order]
    demand["priority"] = flows.priorities[order]
    demand["connection"] = flows.connections[order]
    demand["session"] = flows.sessions[order]
    return demand


def _check_open_loop(
    demand: NDArray[Any], transports: list[Transport], run: Run, window: int
) -> None:
    open_loop = np.array([t.congestion_control == "open-loop" for t in transports])
    sizes = demand["size"][open_loop[demand["transport"]]]
    if len(sizes) and sizes.max() > run.segment_bytes * window:
        text = f"an open-loop flow has at most {window} packets; enlarge max_window"
        raise BadInput(text, field="sizes_bytes")
    if demand["size"].max() > run.segment_bytes * (2**31 - 2):
        raise BadInput("a flow has at most 2**31 - 2 packets", field="sizes_bytes")


def _build_outcome(n: int) -> NDArray[Any]:
    outcome = np.zeros(n, layout.OUTCOME)
    outcome["finish"] = outcome["acknowledged"] = NEVER
    return outcome


def _build_buckets(network: Network, ports: PortSettings) -> NDArray[Any]:
    buckets = np.zeros(0 if ports.tagging is None else network.hosts**2, layout.BUCKET)
    if ports.tagging is not None:
        buckets["tokens"] = ports.tagging.burst_bytes
    return buckets


def _build_choices(network: Network) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Lay the lists of paths of all pairs of edge switches one behind the other."""
    if not network.choices:
        return np.zeros(1, np.int64), np.zeros(1, np.int32)
    every = list(range(network.n_paths))
    pairs = ((a, b) for a in range(network.edges) for b in range(network.edges))
    lists = [list(network.choices.get(pair, every)) for pair in pairs]
    first = np.concatenate([[0], np.cumsum([len(paths) for paths in lists])]).astype(np.int64)
    return first, np.concatenate(lists).astype(np.int32)


def _build_explicit(network: Network, demand: NDArray[Any]) -> NDArray[np.int32]:
    if network.kind != layout.EXPLICIT:
        return np.zeros((0, 2, layout.ROUTE_LENGTH), np.int32)
    return find_routes(network, demand["source"], demand["destination"])


def _order_losses(run: Run, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the flows of scripted losses in the order of the arrays."""
    place = np.argsort(order)
    lines = [(place[flow], packet) for flow, packet in run.losses]
    return np.array(lines, np.int64).reshape(-1, 2)


def _count_samples(run: Run) -> int:
    if not run.watched_links or run.duration_s is None:
        return 0
    return int(run.duration_s / run.sample_period_s) + 2
