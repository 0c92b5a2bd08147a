"""Time SYN/ACKs to SYN segments from a raw socket.

The kernel resets the half-open connections, because it has no socket for them.
"""

import random
import socket
from contextlib import ExitStack
from typing import NamedTuple

from core.clock import Clock
from probes.net.deadlines import (
    pause_until,
    receive,
    stamp_arrivals,
    status_of_error,
    wait_readable,
)
from probes.net.ssrf_guard import Endpoint
from probes.packets.headers import ACK, RST, SYN, TCP, read_segment, strip_ipv4, syn_segment
from probes.records import Attempt, ProbeStatus


class _Sockets(NamedTuple):
    raw: socket.socket
    ends: tuple[bytes, bytes]
    ports: tuple[int, int]


def source_of(endpoint: Endpoint) -> str:
    """The address from which this machine reaches an endpoint; raises ``OSError``."""
    with socket.socket(endpoint.domain, socket.SOCK_DGRAM) as sock:
        sock.connect((endpoint.address, endpoint.port or 9))
        return str(sock.getsockname()[0])


def packed_addresses(endpoint: Endpoint, source: str) -> tuple[bytes, bytes]:
    """Both addresses as octets."""
    return socket.inet_pton(endpoint.domain, source), socket.inet_pton(
        endpoint.domain, endpoint.address
    )


# Kernels retransmit an unacknowledged SYN/ACK after this (RFC 6298): a later one may be the
# retransmission of a lost SYN/ACK, which does not time our SYN.
REPEATED_AFTER_S = 1.0


def ping(
    endpoint: Endpoint, count: int, timeout_s: float, interval_s: float, clock: Clock
) -> tuple[Attempt, ...]:
    """Send SYNs one after the other; raise ``PermissionError`` without the right to raw sockets."""
    with ExitStack() as stack:
        raw = stack.enter_context(socket.socket(endpoint.domain, socket.SOCK_RAW, TCP))
        reserved = stack.enter_context(socket.socket(endpoint.domain, socket.SOCK_STREAM))
        stamp_arrivals(raw)
        try:
            source = source_of(endpoint)
            reserved.bind((source, 0))
            raw.connect((endpoint.address, 0))
        except OSError as error:
            return (Attempt(status_of_error(error)),) * count
        ports = (reserved.getsockname()[1], endpoint.port)
        ways = _Sockets(raw, packed_addresses(endpoint, source), ports)
        start = clock.monotonic()
        attempts = []
        for number in range(count):
            pause_until(start + number * interval_s, clock)
            attempts.append(_send_probe(ways, timeout_s, clock))
        return tuple(attempts)


def _send_probe(ways: _Sockets, timeout_s: float, clock: Clock) -> Attempt:
    sequence = random.SystemRandom().getrandbits(32)
    segment = syn_segment(ways.ends, ways.ports, sequence)
    start = clock.monotonic()
    try:
        ways.raw.send(segment)
        while wait_readable([ways.raw], start + timeout_s, clock):
            data, _, at = receive(ways.raw, clock, start)
            found = _classify_segment(ways, data, sequence)
            if found is ProbeStatus.OK and at - start >= REPEATED_AFTER_S:
                return Attempt(ProbeStatus.TIMEOUT)
            if found is not None:
                rtt_ms = (at - start) * 1e3 if found is ProbeStatus.OK else None
                return Attempt(found, rtt_ms)
    except OSError as error:
        return Attempt(status_of_error(error))
    return Attempt(ProbeStatus.TIMEOUT)


def _classify_segment(ways: _Sockets, data: bytes, sequence: int) -> ProbeStatus | None:
    """Classify a segment as the reply to our SYN; return ``None`` for an unrelated one."""
    segment = read_segment(strip_ipv4(data) if len(ways.ends[0]) == 4 else data)
    if segment is None or (segment.port, segment.source_port) != ways.ports:
        return None
    if segment.acknowledged != (sequence + 1) & 0xFFFFFFFF:
        return None
    if segment.flags & RST:
        return ProbeStatus.REFUSED
    return ProbeStatus.OK if segment.flags & (SYN | ACK) == SYN | ACK else None
