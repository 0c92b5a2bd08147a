"""What a sender knows of its packets: acknowledged, received above a gap, lost, sent again.

With selective acknowledgements each one names the packet that it answers. Without them a sender
only counts duplicates (Reno, RFC 5681, and NewReno, RFC 6582).
"""

import math
from typing import Any

import numpy as np

from core.jit import compile_inlined, compile_loop
from simulator.packets.arrays import flows_of, sacks_of, transports_of
from simulator.packets.layout import (
    LOSS,
    NEWRENO_RECOVERY,
    OPEN,
    RECOVERY,
    SACK_RECOVERY,
)


@compile_inlined
def count_in_flight(flow: Any) -> Any:
    """Return the number of packets that are assumed to be in the network."""
    return flow.next - flow.una - flow.sacked - flow.lost


@compile_inlined
def record_acknowledgement(state: Any, slot: Any, recovery: Any, packet: Any) -> Any:
    """Record an acknowledgement; return the number of newly acknowledged packets."""
    flow = flows_of(state)[slot]
    in_order = flow.sacked == 0 and flow.lost == 0 and packet.number < packet.cumulative
    if in_order and (flow.state == OPEN or recovery == SACK_RECOVERY):
        packets = max(packet.cumulative - flow.una, 0)
        flow.una += packets
        flow.scan = max(flow.scan, flow.una)
        flow.resend = max(flow.resend, flow.una)
        flow.highest = max(flow.highest, flow.una)
        return packets
    if recovery == SACK_RECOVERY:
        return _record_selectively(state, slot, packet)
    return _count_duplicates(flow, recovery, packet.cumulative)


@compile_loop
def _record_selectively(state: Any, slot: Any, packet: Any) -> Any:
    flow = flows_of(state)[slot]
    sacks = sacks_of(state, slot)
    mask = state.window - 1
    packets = 0
    number = packet.number
    if number >= flow.una and number >= packet.cumulative and not sacks[number & mask]:
        sacks[number & mask] = 1
        flow.sacked += 1
        packets = 1
        flow.lost -= flow.resend <= number < flow.scan
        flow.highest = max(flow.highest, number + 1)
    while flow.una < packet.cumulative:
        at = flow.una & mask
        if sacks[at]:
            sacks[at] = 0
            flow.sacked -= 1
        else:
            packets += 1
            flow.lost -= flow.resend <= flow.una < flow.scan
        flow.una += 1
    flow.scan = max(flow.scan, flow.una)
    flow.resend = max(flow.resend, flow.una)
    flow.highest = max(flow.highest, flow.una)
    return packets


@compile_loop
def _count_duplicates(flow: Any, recovery: Any, cumulative: Any) -> Any:
    """Count a duplicate as a packet that has left the network, or advance."""
    packets = cumulative - flow.una
    if packets <= 0:
        if flow.state != LOSS and packets == 0:
            flow.sacked = min(flow.sacked + 1, flow.next - flow.una - 1)
        return 0
    flow.una = cumulative
    partial = flow.state == RECOVERY and cumulative < flow.recover
    if partial and recovery == NEWRENO_RECOVERY:
        flow.sacked = max(flow.sacked - packets + 1, 0)
        _lose_first(flow)
        return packets
    if flow.state != LOSS:
        flow.sacked = 0
        flow.scan = flow.una
    if partial:
        flow.recover = flow.una
    flow.scan = max(flow.scan, flow.una)
    flow.resend = max(flow.resend, flow.una)
    flow.lost = flow.scan - flow.resend
    return packets


@compile_inlined
def _lose_first(flow: Any) -> None:
    flow.scan = flow.una + 1
    flow.resend = flow.una
    flow.lost = 1


@compile_loop
def enter_recovery(flow: Any, now: Any) -> None:
    """Begin recovery, which ends when all is acknowledged that was sent before."""
    flow.recovery_since = now
    flow.window_before = flow.window
    flow.threshold_before = flow.threshold
    flow.recover = flow.next
    flow.state = RECOVERY
    flow.flight_at_loss = flow.next - flow.una
    flow.delivered = 0
    flow.sent_since = 0


@compile_inlined
def undo_recovery(flow: Any, first: Any, packet: Any) -> None:
    """End a recovery for packets that were only late, and restore the window (RFC 3522, 4015).

    ``first`` was the first missing packet: its acknowledgement answers a transmission from before
    the recovery.
    """
    if packet.number == first and flow.una > first and packet.sent < flow.recovery_since:
        flow.window = max(flow.window, flow.window_before)
        flow.threshold = max(flow.threshold, flow.threshold_before)
        flow.resend = flow.scan
        flow.lost = 0
        flow.state = OPEN


@compile_loop
def limit_recovery(flow: Any) -> Any:
    """Return how many packets may be in flight: the window falls as packets are delivered.

    This is proportional rate reduction (RFC 6937) with the slow start reduction bound.
    """
    in_flight = count_in_flight(flow)
    if in_flight > flow.threshold:
        share = flow.delivered * flow.threshold / flow.flight_at_loss
        return in_flight + np.int64(max(math.ceil(share) - flow.sent_since, 0))
    owed = max(flow.delivered - flow.sent_since, flow.delivered_last) + 1
    return in_flight + np.int64(max(min(flow.threshold - in_flight, owed), 0))


@compile_inlined
def leave_recovery(flow: Any) -> None:
    """End recovery when all is acknowledged that had been sent when it began."""
    if flow.state != OPEN and flow.una >= flow.recover:
        if flow.state == RECOVERY:
            flow.window = flow.threshold
        flow.state = OPEN


@compile_inlined
def detect_losses(state: Any, slot: Any, transport: Any) -> Any:
    """Find lost packets; return whether the sender has to enter recovery."""
    flow = flows_of(state)[slot]
    if flow.sacked == 0:
        return False
    if transport.recovery == SACK_RECOVERY:
        duplicates = transport.duplicates
        if flow.state == RECOVERY and flow.next == flow.n_packets:
            # Without new data to send, all gaps are filled (RFC 6675, section 4, rule 3).
            duplicates = 1
        _scan_gaps(state, slot, duplicates)
        if flow.state != OPEN and flow.lost == 0 and flow.una < flow.resend:
            _find_lost_again(state, slot, duplicates)
        return flow.lost > 0 and flow.state == OPEN
    if flow.state == OPEN and flow.sacked >= transport.duplicates and flow.una >= flow.recover:
        _lose_first(flow)
        return True
    return False


@compile_loop
def _scan_gaps(state: Any, slot: Any, duplicates: Any) -> None:
    """Count packets as lost of which one that was sent ``duplicates`` later was received."""
    flow = flows_of(state)[slot]
    sacks = sacks_of(state, slot)
    mask = state.window - 1
    while flow.scan < flow.highest - duplicates:
        flow.lost += 1 - sacks[flow.scan & mask]
        flow.scan += 1


@compile_loop
def _find_lost_again(state: Any, slot: Any, duplicates: Any) -> None:
    """Count packets as lost again of which one first sent after their last retransmission arrived.

    Without this a lost retransmission waits for the timer (as in Linux, and in RFC 8985, 6.2).
    """
    flow = flows_of(state)[slot]
    if flow.highest <= flow.resent_before + duplicates:
        return
    sacks = sacks_of(state, slot)
    mask = state.window - 1
    for number in range(flow.una, flow.resend):
        flow.lost += 1 - sacks[number & mask]
    flow.resend = flow.una


@compile_loop
def lose_all(flow: Any, recovery: Any) -> None:
    """Count all packets as lost that were not received, after a timeout."""
    if recovery != SACK_RECOVERY:
        flow.sacked = 0
    flow.scan = flow.next
    flow.resend = flow.una
    flow.lost = flow.next - flow.una - flow.sacked
    flow.recover = flow.next
    flow.state = LOSS


@compile_loop
def next_lost(state: Any, slot: Any) -> Any:
    """Return the next packet to send again, which then is no longer counted as lost."""
    flow = flows_of(state)[slot]
    if flow.sacked > 0 and transports_of(state)[flow.transport].recovery == SACK_RECOVERY:
        sacks = sacks_of(state, slot)
        mask = state.window - 1
        while sacks[flow.resend & mask]:
            flow.resend += 1
    number = flow.resend
    flow.resend += 1
    flow.lost -= 1
    flow.resent_before = flow.next
    return number
