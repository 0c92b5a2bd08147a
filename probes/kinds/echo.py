"""32 KB there and back over TCP: the time until the last octet of the echo is here again."""

import os
import select
import socket
from dataclasses import dataclass

from core.clock import Clock
from probes.net.deadlines import status_of_error
from probes.net.run_cost import RunCost, transfer_cost
from probes.net.ssrf_guard import Endpoint, Refusal, admit
from probes.net.udp_exchange import repeat
from probes.records import Attempt, ProbeStatus, RoundTrips, Target, status_of

NAME = "echo"
VERSION = 1
UNIT = "ms"
METRIC = ""

# Where RFC 862 puts the service.
_PORT = 7


@dataclass(frozen=True, slots=True)
class Config:
    """``octets`` go there and back, ``count`` times over one connection each."""

    octets: int = 32 * 1024
    count: int = 3
    interval_s: float = 0.2
    timeout_s: float = 5.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


def cost(config: Config) -> RunCost:
    """Estimate what one run costs."""
    one_way = transfer_cost(config.octets)
    there_and_back = 2 * config.count
    return RunCost(config.count, there_and_back * one_way.packets, there_and_back * one_way.octets)


def run(target: Target, config: Config, clock: Clock) -> RoundTrips:
    """Time an echo; raises ``ValueError`` for prefixes that are none."""
    at = clock.now().timestamp()
    target = Target(target.host, target.port or _PORT, target.family)
    admitted = admit(target, config.allow, config.deny)
    if isinstance(admitted, Refusal):
        return admitted.outcome(RoundTrips, (NAME, VERSION), target, at)
    attempts = repeat(
        config.count, config.interval_s, lambda: _echo(admitted, config, clock), clock
    )
    return RoundTrips(
        probe=NAME,
        version=VERSION,
        target=target,
        address=admitted.address,
        at=at,
        status=status_of(attempts),
        method="tcp",
        attempts=attempts,
    )


def _echo(endpoint: Endpoint, config: Config, clock: Clock) -> Attempt:
    """The connection is made before the clock starts: the study timed the transfer alone."""
    payload = os.urandom(config.octets)
    with socket.socket(endpoint.domain, socket.SOCK_STREAM) as sock:
        sock.settimeout(config.timeout_s)
        try:
            sock.connect(endpoint.sockaddr)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setblocking(False)
            start = clock.monotonic()
            back = _there_and_back(sock, payload, start + config.timeout_s, clock)
        except OSError as error:
            return Attempt(status_of_error(error))
        elapsed_ms = (clock.monotonic() - start) * 1e3
    if back != payload:
        return Attempt(ProbeStatus.MALFORMED)
    return Attempt(ProbeStatus.OK, elapsed_ms)


def _there_and_back(sock: socket.socket, payload: bytes, end: float, clock: Clock) -> bytes:
    """Send and read at once, so that neither side's buffers can block the other."""
    left, back = memoryview(payload), bytearray()
    poll = select.poll()
    while len(back) < len(payload):
        poll.register(sock, select.POLLIN | (select.POLLOUT if left else 0))
        left_s = end - clock.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1e3):
            raise TimeoutError
        left = left[_send(sock, left) :]
        got = _receive(sock, len(payload) - len(back))
        if got == b"":
            raise ConnectionResetError
        back += got or b""
    return bytes(back)


def _send(sock: socket.socket, left: memoryview) -> int:
    try:
        return sock.send(left) if left else 0
    except BlockingIOError:
        return 0


def _receive(sock: socket.socket, octets: int) -> bytes | None:
    try:
        return sock.recv(octets)
    except BlockingIOError:
        return None
