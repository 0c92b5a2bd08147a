"""The sender of a flow: it sends what its window allows, and reacts to acknowledgements and time.

Flows start without a handshake, as over a connection that is kept open.
"""

from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import (
    arrivals_of,
    demand_of,
    flow_routes_of,
    flows_of,
    links_of,
    losses_of,
    outcomes_of,
    packets_of,
    queues_of,
    sessions_of,
    transports_of,
)
from simulator.packets.forwarding import fill_flow_routes, route_packet
from simulator.packets.layout import (
    DATA,
    FIFO,
    NONE,
    OLIA,
    OPEN,
    OPEN_LOOP,
    RECOVERY,
    SACK_RECOVERY,
)
from simulator.packets.ports.links import (
    allocate_packet,
    join_connection,
    release_flow,
    release_packet,
)
from simulator.packets.ports.output import send
from simulator.packets.samples import record_rtt
from simulator.packets.tagging import choose_priority
from simulator.packets.transport.congestion import (
    collapse_window,
    copy_window,
    cut_window,
    enlarge_edge_window,
    enlarge_linked_window,
    enlarge_window,
    react_to_marks,
)
from simulator.packets.transport.scoreboard import (
    count_in_flight,
    detect_losses,
    enter_recovery,
    leave_recovery,
    limit_recovery,
    lose_all,
    next_lost,
    record_acknowledgement,
    undo_recovery,
)
from simulator.packets.transport.timers import restart_timer, set_deadline, update_rtt

_LARGEST_BACKOFF = 6


@compile_loop
def start_flow(state: Any) -> None:
    """Start the next flow of the demand in a free slot."""
    number = state.next_flow
    state.next_flow += 1
    slot = state.free_flow
    flow = flows_of(state)[slot]
    state.free_flow = flow.free
    state.free_flows -= 1
    state.active += 1
    state.most_active = max(state.most_active, state.active)
    # Complete flows leave their rows clear, but packets of an open loop may have been lost.
    if flow.early > 0:
        _clear_row(arrivals_of(state, slot), state.window)
    demand = demand_of(state)[number]
    _reset(flow, number, demand, state.segment)
    follows = number > 0 and demand.connection == demand_of(state)[number - 1].connection
    join_connection(state, slot, follows and demand.connection != NONE)
    transport = transports_of(state)[flow.transport]
    _initialize_windows(state, flow, transport, demand.session)
    fill_flow_routes(state, slot)
    if transport.congestion_control == OPEN_LOOP:
        _send_open_loop(state, slot)
        return
    restart_timer(state, slot)
    send_window(state, slot)
    flow.window_end = flow.next


@compile_inlined
def _initialize_windows(state: Any, flow: Any, transport: Any, session: Any) -> None:
    """Begin with the windows of the transport, or with what the session was left with."""
    flow.window = transport.initial_window
    flow.threshold = transport.initial_threshold
    flow.edge_window = transport.initial_window
    flow.edge_threshold = transport.initial_threshold
    flow.alpha = transport.initial_alpha
    flow.gap_mean = transport.initial_gap
    flow.session = session
    if session != NONE and sessions_of(state)[session].flows > 0:
        copy_window(sessions_of(state)[session], flow)


@compile_loop
def _clear_row(row: Any, n: Any) -> None:
    for column in range(n):
        row[column] = 0


@compile_loop
def _reset(flow: Any, number: Any, demand: Any, segment: Any) -> None:
    """Clear a slot for a flow; the entry in the heap of timers remains valid."""
    flow.id = number
    flow.source = demand.source
    flow.destination = demand.destination
    flow.transport = demand.transport
    flow.priority = demand.priority
    flow.n_packets = (demand.size + segment - 1) // segment
    flow.last_bytes = demand.size - (flow.n_packets - 1) * segment
    flow.una = flow.next = flow.scan = flow.resend = flow.highest = flow.recover = 0
    flow.lost = flow.sacked = flow.backoff = flow.in_network = 0
    flow.state = OPEN
    flow.smoothed = flow.variation = flow.plateau = flow.friendly = 0.0
    flow.window_at_cut = 0.0
    flow.since_loss = flow.between_losses = 0
    flow.epoch = flow.last_sent = flow.paced_at = flow.waits = flow.probes = 0
    flow.window_end = flow.acknowledged = flow.echoed = 0
    flow.cut_end = NONE
    flow.cell = flow.cell_bytes = flow.transmissions = 0
    flow.received = flow.early = flow.in_order_cell = 0
    flow.held_first = NONE
    flow.releases = 0


@compile_loop
def _send_open_loop(state: Any, slot: Any) -> None:
    """Send all packets at once; nothing is acknowledged or sent again."""
    flow = flows_of(state)[slot]
    for number in range(flow.n_packets):
        _transmit(state, slot, number)
    flow.una = flow.n_packets
    flow.next = flow.n_packets
    if flow.in_network == 0:
        release_flow(state, slot)


@compile_loop
def _transmit(state: Any, slot: Any, number: Any) -> None:
    """Send a packet of a flow, now."""
    flow = flows_of(state)[slot]
    index = allocate_packet(state)
    packet = packets_of(state)[index]
    last = number == flow.n_packets - 1
    packet.flow = slot
    packet.number = number
    packet.size = (flow.last_bytes if last else state.segment) + state.header
    packet.hop = 0
    packet.sent = state.now
    packet.acknowledges = 0
    packet.marked = 0
    packet.markable = transports_of(state)[flow.transport].markable
    packet.priority = choose_priority(state, flow.source, flow.destination, packet)
    flow.in_network += 1
    flow.sent_since += 1
    outcomes_of(state)[flow.id].sent += 1
    route_packet(state, index, slot, DATA)
    packet.cell = flow.cell
    if state.n_losses > 0 and _is_scripted(state, flow.id, number):
        outcomes_of(state)[flow.id].dropped += 1
        release_packet(state, index)
        return
    send(state, index)


@compile_loop
def _is_scripted(state: Any, flow: Any, number: Any) -> Any:
    """Return whether this transmission is lost by the script, each line of which counts once."""
    for line in range(state.n_losses):
        if losses_of(state)[line, 0] == flow and losses_of(state)[line, 1] == number:
            losses_of(state)[line, 0] = NONE
            return True
    return False


@compile_loop
def send_window(state: Any, slot: Any) -> None:
    """Send lost packets again, and then new ones, as far as the window allows."""
    flow = flows_of(state)[slot]
    transport = transports_of(state)[flow.transport]
    window = flow.window
    if transport.edge:
        window = min(window, flow.edge_window)
    if flow.state == RECOVERY and transport.recovery == SACK_RECOVERY:
        allowed = min(limit_recovery(flow), np.int64(transport.max_window))
    else:
        allowed = max(np.int64(window), 1)
    if window < 1 and _has_to_wait(state, slot, window):
        return
    limit = min(flow.n_packets, flow.una + state.window)
    while count_in_flight(flow) < allowed and _may_add(state, slot, transport):
        if flow.lost > 0:
            outcomes_of(state)[flow.id].resent += 1
            _transmit(state, slot, next_lost(state, slot))
        elif flow.next < limit:
            flow.next += 1
            _transmit(state, slot, flow.next - 1)
        else:
            break


@compile_inlined
def _may_add(state: Any, slot: Any, transport: Any) -> Any:
    """Return whether the queue of the host is below the limit of the transport.

    If it is not, the flow continues when half of the limit is left.
    """
    if transport.small_queue == 0:
        return True
    number = np.int64(flow_routes_of(state)[slot, DATA, 0])
    link = links_of(state)[number]
    wait = link.busy_until - state.now
    if link.policy != FIFO:
        wait += (queues_of(state)[number, 0].bytes + queues_of(state)[number, 1].bytes) * (
            link.ps_per_byte
        )
    limit = transport.small_queue * link.ps_per_byte
    if wait <= limit:
        return True
    flows_of(state)[slot].waits = 1
    set_deadline(state, slot, state.now + wait - limit // 2)
    return False


@compile_loop
def _has_to_wait(state: Any, slot: Any, window: Any) -> Any:
    """Return whether a window below one packet has to wait, and set the deadline to its end."""
    flow = flows_of(state)[slot]
    if count_in_flight(flow) > 0:
        return False
    due = flow.paced_at + np.int64(flow.smoothed / window)
    if flow.paced_at == 0 or state.now >= due:
        flow.paced_at = state.now
        return False
    flow.waits = 1
    set_deadline(state, slot, due)
    return True


@compile_loop
def receive_acknowledgement(state: Any, index: Any) -> None:
    """React to an acknowledgement that has arrived at its sender."""
    packet = packets_of(state)[index]
    slot = np.int64(packet.flow)
    flow = flows_of(state)[slot]
    if flow.una < flow.n_packets:
        transport = transports_of(state)[flow.transport]
        rtt = state.now - packet.sent
        update_rtt(flow, rtt)
        record_rtt(state, flow.id, rtt)
        first = flow.una
        _update_windows(state, slot, transport, packet)
        if flow.una < flow.n_packets:
            if flow.una > first:
                flow.backoff = 0
                restart_timer(state, slot)
            send_window(state, slot)
        else:
            outcomes_of(state)[flow.id].acknowledged = state.now
            if flow.session != NONE:
                sessions_of(state)[flow.session].flows += 1
                copy_window(flow, sessions_of(state)[flow.session])
    release_packet(state, index)


@compile_inlined
def _update_windows(state: Any, slot: Any, transport: Any, packet: Any) -> None:
    """Record an acknowledgement and change the windows by it."""
    flow = flows_of(state)[slot]
    in_flight = count_in_flight(flow)
    first = flow.una
    packets = record_acknowledgement(state, slot, transport.recovery, packet)
    flow.delivered += packets
    flow.since_loss += packets
    flow.delivered_last = packets
    if flow.state != OPEN:
        if flow.state == RECOVERY and transport.undoes:
            undo_recovery(flow, first, packet)
        leave_recovery(flow)
    may_grow = react_to_marks(flow, transport, packets, packet.echo)
    if detect_losses(state, slot, transport):
        enter_recovery(flow, state.now)
        cut_window(flow, transport)
    elif packets > 0 and flow.state != RECOVERY:
        if transport.edge:
            if may_grow and in_flight + 1 > flow.edge_window:
                enlarge_edge_window(flow, transport, packets)
            may_grow = True
        if may_grow and in_flight + 1 > flow.window:
            _enlarge(state, slot, transport, packets)


@compile_inlined
def _enlarge(state: Any, slot: Any, transport: Any, packets: Any) -> None:
    """Enlarge the window of a sender, by itself or with the other subflows of its connection."""
    flow = flows_of(state)[slot]
    if transport.congestion_control == OLIA and flow.window >= flow.threshold:
        enlarge_linked_window(state, slot, packets)
        flow.window = min(flow.window, transport.max_window)
    else:
        enlarge_window(flow, transport, packets, state.now)


@compile_loop
def _probe(state: Any, slot: Any, transport: Any) -> None:
    """Send a packet, so that its acknowledgement shows what was lost; a timeout comes next.

    That is a new packet, else the last one (RFC 8985, 7.3). If the last one has arrived, only the
    first missing packet can be lost: it is sent again.
    """
    flow = flows_of(state)[slot]
    if flow.next < min(flow.n_packets, flow.una + state.window):
        flow.next += 1
        _transmit(state, slot, flow.next - 1)
    else:
        outcomes_of(state)[flow.id].resent += 1
        _transmit(state, slot, flow.una if flow.highest == flow.next else flow.next - 1)
    flow.probes = 0
    timeout = max(np.int64(flow.smoothed + 4 * flow.variation), transport.minimum_timeout)
    if flow.smoothed == 0:
        timeout = transport.initial_timeout
    set_deadline(state, slot, state.now + timeout)


@compile_loop
def expire_timer(state: Any, slot: Any) -> None:
    """Start again from a window of one packet after a retransmission timeout."""
    flow = flows_of(state)[slot]
    transport = transports_of(state)[flow.transport]
    if flow.waits:
        restart_timer(state, slot)
        send_window(state, slot)
        return
    if flow.probes:
        _probe(state, slot, transport)
        return
    collapse_window(flow, transport)
    lose_all(flow, transport.recovery)
    flow.backoff = min(flow.backoff + 1, _LARGEST_BACKOFF)
    outcomes_of(state)[flow.id].timeouts += 1
    restart_timer(state, slot)
    send_window(state, slot)
