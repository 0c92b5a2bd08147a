"""A stream of datagrams at a steady pace to an echo: jitter as RFC 3550 defines it, and loss."""

import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.clock import Clock
from probes.net.deadlines import (
    pause_until,
    receive,
    stamp_arrivals,
    status_of_error,
    wait_readable,
)
from probes.net.run_cost import UDP_HEADERS, RunCost, ping_cost
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.records import Outcome, ProbeStatus, Target

NAME = "jitter"
VERSION = 1
UNIT = "ms"
METRIC = ""

_PORT = 7
_HEAD = struct.Struct("!8sI")


@dataclass(frozen=True, slots=True)
class Config:
    """A voice call: 160 octets every 20 ms; what comes ``timeout_s`` after the last is lost."""

    count: int = 250
    interval_s: float = 0.02
    octets: int = 160
    timeout_s: float = 1.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def streams(self) -> bool:
        """Packets leave at their pace, whatever comes back."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Outcome):
    """``transits_ms`` by sequence number in the order of arrival; ``jitter_ms`` after the last."""

    count: int = 0
    transits_ms: tuple[tuple[int, float], ...] = ()
    jitter_ms: float | None = None
    reordered: int = 0
    duplicates: int = 0

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(ms for _, ms in self.transits_ms)

    @property
    def sent(self) -> int:
        return self.count


@dataclass(slots=True)
class _Flight:
    """What went out and came back so far."""

    stream: bytes
    left_at: dict[int, float] = field(default_factory=dict)
    transits_ms: dict[int, float] = field(default_factory=dict)
    reordered: int = 0
    duplicates: int = 0


def jitter_of(transits_ms: Sequence[float]) -> float:
    """RFC 3550, section 6.4.1: J += (|D| - J) / 16 over differences of transit times."""
    jitter_ms = 0.0
    for before, after in zip(transits_ms, transits_ms[1:], strict=False):
        jitter_ms += (abs(after - before) - jitter_ms) / 16
    return jitter_ms


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return ping_cost(config.count, UDP_HEADERS + config.octets)


def run(target: Target, config: Config, clock: Clock) -> Stream:
    """Send a stream; raises ``ValueError`` for prefixes that are none."""
    at = clock.now().timestamp()
    target = Target(target.host, target.port or _PORT, target.family)
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(Stream, (NAME, VERSION), target, at)
    flight = _Flight(os.urandom(8))
    status = _fly(admitted, config, flight, clock)
    found = tuple(flight.transits_ms.values())
    return Stream(
        probe=NAME,
        version=VERSION,
        target=target,
        address=admitted.address,
        at=at,
        status=ProbeStatus.OK if found else status,
        method="udp",
        count=len(flight.left_at),
        transits_ms=tuple(flight.transits_ms.items()),
        jitter_ms=jitter_of(found) if len(found) > 1 else None,
        reordered=flight.reordered,
        duplicates=flight.duplicates,
    )


def _fly(endpoint: Endpoint, config: Config, flight: _Flight, clock: Clock) -> ProbeStatus:
    status = ProbeStatus.TIMEOUT
    with socket.socket(endpoint.domain, socket.SOCK_DGRAM) as sock:
        try:
            stamp_arrivals(sock)
            sock.connect(endpoint.sockaddr)
        except OSError as error:
            return status_of_error(error)
        start = clock.monotonic()
        for number in range(config.count):
            due = start + number * config.interval_s
            status = _collect(sock, flight, due, clock) or status
            pause_until(due, clock)
            status = _send(sock, config, flight, clock) or status
        _collect(sock, flight, clock.monotonic() + config.timeout_s, clock)
    return status


def _send(sock: socket.socket, config: Config, flight: _Flight, clock: Clock) -> ProbeStatus | None:
    number = len(flight.left_at)
    flight.left_at[number] = clock.monotonic()
    try:
        sock.send(_HEAD.pack(flight.stream, number).ljust(config.octets, b"\0"))
    except OSError as error:
        return status_of_error(error)
    return None


def _collect(
    sock: socket.socket, flight: _Flight, until: float, clock: Clock
) -> ProbeStatus | None:
    """Read until a moment comes, or until all that was sent is back."""
    status = None
    while len(flight.transits_ms) < len(flight.left_at) and wait_readable([sock], until, clock):
        try:
            data, _, at = receive(sock, clock)
        except OSError as error:
            status = status_of_error(error)
            continue
        _note(flight, data, at)
    return status


def _note(flight: _Flight, data: bytes, at: float) -> None:
    if len(data) < _HEAD.size or not data.startswith(flight.stream):
        return
    _, number = _HEAD.unpack_from(data)
    if number not in flight.left_at:
        return
    if number in flight.transits_ms:
        flight.duplicates += 1
        return
    flight.reordered += bool(flight.transits_ms) and number < max(flight.transits_ms)
    flight.transits_ms[number] = max(0.0, at - flight.left_at[number]) * 1e3
