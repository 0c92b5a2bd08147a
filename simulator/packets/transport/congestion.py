"""Congestion windows in packets: NewReno (RFC 5681), CUBIC (RFC 9438), DCTCP (RFC 8257), OLIA.

With ``edge`` a second window is kept by DCTCP outside of the sender, which does not see the marks;
the smaller one counts (as a virtual switch enforces it through the receive window).
"""

from typing import Any

import numpy as np

from core.jit import compile_loop
from simulator.packets.arrays import flows_of
from simulator.packets.layout import CUBIC, DCTCP, FIXED_WINDOW, LOSS, OLIA, PS_PER_S

_CUBIC_SCALE, _CUBIC_BETA = 0.4, 0.7
_CUBIC_FRIENDLY = 3 * (1 - _CUBIC_BETA) / (1 + _CUBIC_BETA)


@compile_loop
def enlarge_window(flow: Any, transport: Any, packets: Any, now: Any) -> None:
    """Enlarge the windows after packets were acknowledged."""
    if transport.congestion_control == FIXED_WINDOW:
        return
    if flow.window < flow.threshold:
        flow.window += packets
    elif transport.congestion_control == CUBIC:
        _enlarge_by_cubic(flow, packets, now)
    else:
        flow.window += packets / flow.window
    flow.window = min(flow.window, transport.max_window)


@compile_loop
def enlarge_linked_window(state: Any, slot: Any, packets: Any) -> None:
    """Enlarge the window of a subflow by those of its connection (OLIA, Khalili et al., 2012).

    ``w/rtt^2 / (sum of w/rtt)^2`` per packet is the increase that shares links fairly; an n-th of a
    packet per round trip moves from the subflows with the largest windows to the best ones.
    """
    flow = flows_of(state)[slot]
    rate, largest, best, n = 0.0, 0.0, 0.0, 0
    at = slot
    while n == 0 or at != slot:
        one = flows_of(state)[at]
        rate += one.window / max(one.smoothed, 1.0)
        largest = max(largest, one.window)
        best = max(best, _rate_path(one))
        n += 1
        at = np.int64(one.sibling)
    moved = _move_share(state, slot, largest, best) / n
    flow.window += packets * (
        flow.window / (max(flow.smoothed, 1.0) * rate) ** 2 + moved / flow.window
    )
    flow.window = max(flow.window, 1.0)


@compile_loop
def _rate_path(flow: Any) -> Any:
    """Rate a path by packets between losses and round-trip time: the square of what TCP reaches."""
    return max(flow.since_loss, flow.between_losses) / max(flow.smoothed, 1.0) ** 2


@compile_loop
def _move_share(state: Any, slot: Any, largest: Any, best: Any) -> Any:
    """Return the share of a packet that a subflow gains, or loses, to others of its connection."""
    n_largest, n_gaining, at = 0, 0, np.int64(flows_of(state)[slot].sibling)
    while True:
        one = flows_of(state)[at]
        n_largest += one.window == largest
        n_gaining += one.window < largest and _rate_path(one) == best
        if at == slot:
            break
        at = np.int64(one.sibling)
    flow = flows_of(state)[slot]
    if n_gaining == 0:
        return 0.0
    if flow.window == largest:
        return -1.0 / n_largest
    return 1.0 / n_gaining if _rate_path(flow) == best else 0.0


@compile_loop
def enlarge_edge_window(flow: Any, transport: Any, packets: Any) -> None:
    """Enlarge the window that is kept outside of the sender."""
    slow_start = flow.edge_window < flow.edge_threshold
    flow.edge_window += packets if slow_start else packets / max(flow.edge_window, 1.0)
    flow.edge_window = min(flow.edge_window, transport.max_window)


@compile_loop
def _enlarge_by_cubic(flow: Any, packets: Any, now: Any) -> None:
    if flow.epoch == 0:
        _start_epoch(flow, now)
    elapsed_s = (now - flow.epoch + flow.smoothed) / PS_PER_S
    target = flow.origin + _CUBIC_SCALE * (elapsed_s - flow.inflection) ** 3
    target = min(max(target, flow.window), 1.5 * flow.window)
    # Above the window before the last cut the estimate grows as Reno does (RFC 9438, 4.3).
    growth = _CUBIC_FRIENDLY if flow.friendly < flow.window_at_cut else 1.0
    flow.friendly += growth * packets / flow.window
    flow.window += packets * (target - flow.window) / flow.window
    flow.window = max(flow.window, flow.friendly)


@compile_loop
def _start_epoch(flow: Any, now: Any) -> None:
    flow.epoch = now
    flow.friendly = flow.window
    flow.origin = max(flow.plateau, flow.window)
    flow.inflection = ((flow.origin - flow.window) / _CUBIC_SCALE) ** (1 / 3)


@compile_loop
def cut_window(flow: Any, transport: Any) -> None:
    """Reduce the windows after a loss, or after a mark for a sender that is not DCTCP."""
    if transport.congestion_control == FIXED_WINDOW:
        return
    share = 0.5
    if transport.congestion_control == OLIA:
        flow.between_losses = flow.since_loss
        flow.since_loss = 0
    if transport.congestion_control == CUBIC:
        share = _CUBIC_BETA
        falls = flow.window < flow.plateau
        flow.plateau = flow.window * (1 + _CUBIC_BETA) / 2 if falls else flow.window
        flow.window_at_cut = flow.window
        flow.epoch = 0
    flow.threshold = max(flow.window * share, 2.0)
    flow.window = flow.threshold
    if transport.edge:
        flow.edge_threshold = max(flow.edge_window / 2, transport.minimum_window)
        flow.edge_window = flow.edge_threshold


@compile_loop
def collapse_window(flow: Any, transport: Any) -> None:
    """Start again from one packet after a timeout.

    CUBIC forgets its plateau: the window at which slow start ends is the new one (RFC 9438, 4.8).
    """
    if flow.state != LOSS:
        cut_window(flow, transport)
    if transport.congestion_control != FIXED_WINDOW:
        flow.window = 1.0
        flow.plateau = 0.0


@compile_loop
def copy_window(source: Any, target: Any) -> None:
    """Copy window, threshold and round-trip time between a flow and its session."""
    target.window = source.window
    target.threshold = source.threshold
    target.smoothed = source.smoothed
    target.variation = source.variation
    target.plateau = source.plateau
    target.window_at_cut = source.window_at_cut
    target.epoch = source.epoch
    target.inflection = source.inflection
    target.origin = source.origin
    target.friendly = source.friendly


@compile_loop
def react_to_marks(flow: Any, transport: Any, packets: Any, echo: Any) -> Any:
    """Count marks and reduce the windows at most once per window; return whether they may grow."""
    flow.acknowledged += packets
    flow.echoed += packets * echo
    if flow.una >= flow.window_end:
        if flow.acknowledged > 0:
            share = flow.echoed / flow.acknowledged
            flow.alpha += transport.gain * (share - flow.alpha)
        flow.acknowledged = 0
        flow.echoed = 0
        flow.window_end = flow.next
    # The last packet from before a cut may be marked: only one from after it counts again.
    if flow.una <= flow.cut_end:
        return False
    if not echo:
        return True
    flow.cut_end = flow.next
    _cut_after_mark(flow, transport)
    return False


@compile_loop
def _cut_after_mark(flow: Any, transport: Any) -> None:
    if transport.edge:
        flow.edge_window *= 1 - flow.alpha / 2
        flow.edge_window = max(flow.edge_window, transport.minimum_window)
        flow.edge_threshold = flow.edge_window
    elif transport.congestion_control == DCTCP:
        flow.window = max(flow.window * (1 - flow.alpha / 2), transport.minimum_window)
        flow.threshold = flow.window
    else:
        cut_window(flow, transport)
