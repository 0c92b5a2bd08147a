"""Delay of small packets in the transmission queue of a host that sends bulk traffic.

The NIC holds bytes up to the limit of BQL, is filled again at each completion interrupt, and takes
whole segments: one of 64 KB that begins below the limit ends far above it (He et al., "Small is
Better", sections 3.3 and 4.2). A fair queue in front of it serves small packets first; without it,
they wait behind the window of the bulk connection.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Floats = NDArray[np.float64]
PACKET_BYTES = 1514.0
# CUBIC (RFC 9438): multiplicative decrease, and the constant of its growth in segments per s³.
CUBIC_BETA, CUBIC_C = 0.7, 0.4


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of ``limit_bytes`` in the NIC; bulk segments of ``segment_bytes``; times in µs."""

    rate_bytes_per_us: float = 125.0
    limit_bytes: float = 37_500.0
    segment_bytes: float = 65_536.0
    interrupt_us: float = 100.0


def simulate_managed_queue(queue: Queue, times_us: Floats, seed: int) -> Floats:
    """Delays of packets that arrive at ``times_us`` beside a backlog of bulk segments, shape (n,).

    Small packets have a queue of their own that is served first (fair queueing with CoDel).
    """
    random = np.random.default_rng(seed)
    delays = np.empty(len(times_us))
    _serve(
        times_us,
        queue.rate_bytes_per_us,
        queue.limit_bytes,
        queue.segment_bytes,
        queue.interrupt_us,
        random.uniform(0.5, 1.5, 4096),
        delays,
    )
    return delays


@compile_loop
def _serve(  # noqa: PLR0913
    times: Floats,
    rate: float,
    limit: float,
    segment: float,
    interrupt: float,
    jitter: Floats,
    delays: Floats,
) -> None:
    # Bytes that the NIC has not sent; those it has sent but not reported still count for the limit.
    held, reported, now, i, step = 0.0, 0.0, 0.0, 0, 0
    while i < len(times):
        now += interrupt * jitter[step % len(jitter)]
        step += 1
        sent = interrupt * jitter[(step - 1) % len(jitter)] * rate
        held = max(held - sent, 0.0)
        reported = held
        while i < len(times) and times[i] <= now and reported < limit:
            delays[i] = now - times[i] + held / rate
            i += 1
        while reported < limit:
            held += segment
            reported += segment


def simulate_drop_tail(
    rate_bytes_per_us: float, n_packets: int, base_us: float, times_us: Floats, seed: int
) -> Floats:
    """Delays behind one CUBIC connection in a queue of ``n_packets`` that drops at its tail.

    The window of the connection fills the queue, is cut by the drop and grows again: a fluid model
    of its sawtooth, in steps of one round trip.
    """
    random = np.random.default_rng(seed)
    delays = np.empty(len(times_us))
    _fill(
        times_us,
        rate_bytes_per_us / PACKET_BYTES,
        float(n_packets),
        base_us,
        float(random.uniform()),
        delays,
    )
    return delays


@compile_loop
def _fill(
    times: Floats, rate: float, n_packets: float, base: float, start: float, delays: Floats
) -> None:
    pipe = rate * base
    peak = n_packets + pipe
    window = peak * (CUBIC_BETA + (1 - CUBIC_BETA) * start)
    since, now = 0.0, 0.0
    reno = window
    for i in range(len(times)):
        while now < times[i]:
            trip = max(window / rate, base)
            now += trip
            since += trip
            k = (peak * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3)
            cubic = CUBIC_C * (since / 1e6 - k) ** 3 + peak
            # The window of Reno that would have the same rate (RFC 9438, section 4.3).
            reno += 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
            window = max(cubic, reno)
            if window > n_packets + pipe:
                peak = n_packets + pipe
                window = peak * CUBIC_BETA
                reno, since = window, 0.0
        delays[i] = max(window - pipe, 0.0) / rate
