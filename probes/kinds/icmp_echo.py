"""ICMP echo: the time until echo replies, through the kernel's ping socket or a raw one."""

import os
import random
import socket
from dataclasses import dataclass

from core.clock import Clock
from probes.net.deadlines import (
    pause_until,
    receive,
    stamp_arrivals,
    status_of_error,
    wait_readable,
)
from probes.net.round_trips import measure_round_trips
from probes.net.run_cost import UDP_HEADERS, RunCost, ping_cost
from probes.net.ssrf_guard import Endpoint
from probes.packets.headers import ICMP, ICMP6, echo_request, read_echo, strip_ipv4
from probes.records import Attempt, ProbeStatus, RoundTrips, Target

NAME = "icmp-echo"
VERSION = 1
UNIT = "ms"
METRIC = "latency"


@dataclass(frozen=True, slots=True)
class Config:
    """``size`` is that of the payload in octets, as ``ping`` sends it."""

    count: int = 5
    timeout_s: float = 2.0
    interval_s: float = 0.2
    size: int = 56
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    """An open socket; a ping socket has the identifier that the kernel gave it."""

    sock: socket.socket
    family: int
    raw: bool
    identifier: int


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    return ping_cost(config.count, UDP_HEADERS + config.size)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Ping a target; raises ``ValueError`` for prefixes that are none."""
    return measure_round_trips(
        (NAME, VERSION), target, config, clock, lambda endpoint: _measure(endpoint, config, clock)
    )


def _measure(endpoint: Endpoint, config: Config, clock: Clock) -> tuple[str, tuple[Attempt, ...]]:
    try:
        line = _open(endpoint)
    except PermissionError:
        return "", (Attempt(ProbeStatus.NOT_PERMITTED),) * config.count
    with line.sock:
        attempts = []
        start = clock.monotonic()
        for number in range(config.count):
            pause_until(start + number * config.interval_s, clock)
            attempts.append(_echo(line, number, config, clock))
    return "raw" if line.raw else "ping", tuple(attempts)


def _open(endpoint: Endpoint) -> _Line:
    """The ping socket first: it gets no packets but its own."""
    protocol = ICMP if endpoint.family == 4 else ICMP6
    try:
        sock, raw = socket.socket(endpoint.domain, socket.SOCK_DGRAM, protocol), False
    except PermissionError:
        sock, raw = socket.socket(endpoint.domain, socket.SOCK_RAW, protocol), True
    identifier = random.SystemRandom().getrandbits(16)
    stamp_arrivals(sock)
    try:
        sock.connect((endpoint.address, 0))
    except OSError:
        # What is wrong shows again, as a measurement, when the first request is sent.
        return _Line(sock, endpoint.family, raw, identifier)
    return _Line(sock, endpoint.family, raw, identifier if raw else sock.getsockname()[1])


def _echo(line: _Line, number: int, config: Config, clock: Clock) -> Attempt:
    payload = os.urandom(max(config.size, 8))
    request = echo_request(line.family, line.identifier, number & 0xFFFF, payload)
    start = clock.monotonic()
    try:
        line.sock.send(request)
        while wait_readable([line.sock], start + config.timeout_s, clock):
            data, _, at = receive(line.sock, clock, start)
            if _is_ours(line, data, number, payload):
                return Attempt(ProbeStatus.OK, (at - start) * 1e3)
    except OSError as error:
        return Attempt(status_of_error(error))
    return Attempt(ProbeStatus.TIMEOUT)


def _is_ours(line: _Line, data: bytes, number: int, payload: bytes) -> bool:
    message = strip_ipv4(data) if line.raw and line.family == 4 else data
    found = read_echo(line.family, message)
    own = (line.identifier, number & 0xFFFF)
    # The payload is random, so that no host off the path can answer in the target's place.
    return found == own and message[8:] == payload
