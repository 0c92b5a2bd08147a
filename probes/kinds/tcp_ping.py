"""TCP ping: n times from SYN to SYN/ACK, as the study measured latency.

Without privileges by timing connections, where the kernel's own first round trip is read; with
raw sockets by SYNs alone.
"""

import socket
import struct
from dataclasses import dataclass

from core.clock import Clock
from probes.net.deadlines import pause_until, status_of_error
from probes.net.round_trips import measure_round_trips
from probes.net.run_cost import RunCost, tcp_ping_cost
from probes.net.ssrf_guard import Endpoint
from probes.packets import raw_syn
from probes.records import Attempt, ProbeStatus, RoundTrips, Target

NAME = "tcp-ping"
VERSION = 1
UNIT = "ms"
METRIC = "latency"

# Offsets of the smoothed round trip (microseconds) and of all retransmissions in Linux's tcp_info.
_RTT_US, _RETRANSMITTED = 68, 100


@dataclass(frozen=True, slots=True)
class Config:
    """Five pings, as in the study; ``method`` is auto, connect or syn."""

    count: int = 5
    timeout_s: float = 2.0
    interval_s: float = 0.2
    method: str = "auto"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return tcp_ping_cost(config.count)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Ping a target; raises ``ValueError`` for prefixes that are none."""
    return measure_round_trips(
        (NAME, VERSION), target, config, clock, lambda endpoint: _measure(endpoint, config, clock)
    )


def _measure(endpoint: Endpoint, config: Config, clock: Clock) -> tuple[str, tuple[Attempt, ...]]:
    if config.method != "connect":
        try:
            return "syn", raw_syn.ping(
                endpoint, config.count, config.timeout_s, config.interval_s, clock
            )
        except PermissionError:
            if config.method == "syn":
                return "syn", (Attempt(ProbeStatus.NOT_PERMITTED),) * config.count
    return "connect", _by_connecting(endpoint, config, clock)


def _by_connecting(endpoint: Endpoint, config: Config, clock: Clock) -> tuple[Attempt, ...]:
    start = clock.monotonic()
    attempts = []
    for number in range(config.count):
        pause_until(start + number * config.interval_s, clock)
        attempts.append(_connect(endpoint, config.timeout_s, clock))
    return tuple(attempts)


def _connect(endpoint: Endpoint, timeout_s: float, clock: Clock) -> Attempt:
    with socket.socket(endpoint.domain, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout_s)
        # One repeat at most: what comes after a repeat is no measurement anyway.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
        start = clock.monotonic()
        try:
            sock.connect(endpoint.sockaddr)
        except OSError as error:
            return Attempt(status_of_error(error))
        return _answered(sock, (clock.monotonic() - start) * 1e3)


def _answered(sock: socket.socket, waited_ms: float) -> Attempt:
    """The kernel's round trip; none when the SYN was lost and only its repeat was answered."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    # A reset at the end leaves no half-closed connection on the server.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if len(info) < _RETRANSMITTED + 4:
        return Attempt(ProbeStatus.OK, waited_ms)
    (rtt_us,) = struct.unpack_from("=I", info, _RTT_US)
    (repeated,) = struct.unpack_from("=I", info, _RETRANSMITTED)
    if repeated:
        return Attempt(ProbeStatus.TIMEOUT)
    return Attempt(ProbeStatus.OK, rtt_us / 1e3 if rtt_us else waited_ms)
