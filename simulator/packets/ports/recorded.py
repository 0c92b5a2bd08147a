"""One port recorded packet by packet, for drawings: bulk flows of fixed windows and short packets.

A model of a few hundred packets in plain Python; tests compare it with the compiled ports.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

SHORT = -1


@dataclass(frozen=True, slots=True)
class Passage:
    """A packet of a bulk flow, or of ``SHORT``: when it arrived, was sent and had left, in µs."""

    flow: int
    arrived_us: float
    sent_us: float
    left_us: float


def record_port(
    windows: Sequence[int],
    short_us: Sequence[float],
    *,
    short_first: bool,
    packet_us: float,
    trip_us: float,
    end_us: float,
) -> list[Passage]:
    """Packets in the order of their departure, of those that arrived before ``end_us``.

    Each bulk flow has ``windows`` packets in the network: the next one arrives ``trip_us`` after
    one has left. Short packets arrive at ``short_us``; with ``short_first`` they have a queue of
    their own, which is served first.
    """
    arrivals = [(0.0, flow) for flow, window in enumerate(windows) for _ in range(window)]
    arrivals += [(time, SHORT) for time in short_us]
    heapq.heapify(arrivals)
    bulk: deque[tuple[float, int]] = deque()
    first: deque[tuple[float, int]] = deque()
    found: list[Passage] = []
    now = 0.0
    while arrivals or bulk or first:
        if not bulk and not first:
            now = max(now, arrivals[0][0])
        while arrivals and arrivals[0][0] <= now:
            packet = heapq.heappop(arrivals)
            if packet[0] < end_us:
                (first if short_first and packet[1] == SHORT else bulk).append(packet)
        if not bulk and not first:
            continue
        arrived, flow = (first or bulk).popleft()
        found.append(Passage(flow, arrived, now, now + packet_us))
        now += packet_us
        if flow != SHORT:
            heapq.heappush(arrivals, (now + trip_us, flow))
    return found
