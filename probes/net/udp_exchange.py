"""One question in a datagram and its answer: the round trip, with replies judged by the caller."""

import socket
from collections.abc import Callable
from contextlib import closing

from core.clock import Clock
from probes.net.deadlines import (
    pause_until,
    receive,
    stamp_arrivals,
    status_of_error,
    wait_readable,
)
from probes.net.ssrf_guard import Endpoint
from probes.records import Attempt, ProbeStatus

# Classifies a datagram for the question: OK, another status that ends it, or nothing at all.
ClassifyReply = Callable[[bytes], ProbeStatus | None]
# Replies to one question that are looked at; further ones are ignored, as a defence against floods.
MAX_REPLIES = 1_000


def ask(
    endpoint: Endpoint, question: bytes, classify: ClassifyReply, timeout_s: float, clock: Clock
) -> Attempt:
    """Ask from a fresh port, connected, so that only the target's own datagrams come in."""
    with closing(socket.socket(endpoint.domain, socket.SOCK_DGRAM)) as sock:
        try:
            stamp_arrivals(sock)
            sock.connect(endpoint.sockaddr)
            start = clock.monotonic()
            sock.send(question)
            return _await(sock, classify, start, timeout_s, clock)
        except OSError as error:
            return Attempt(status_of_error(error))


def _await(
    sock: socket.socket, classify: ClassifyReply, start: float, timeout_s: float, clock: Clock
) -> Attempt:
    for _ in range(MAX_REPLIES):
        if not wait_readable([sock], start + timeout_s, clock):
            return Attempt(ProbeStatus.TIMEOUT)
        data, _, at = receive(sock, clock, start)
        found = classify(data)
        if found is not None:
            return Attempt(found, (at - start) * 1e3 if found is ProbeStatus.OK else None)
    return Attempt(ProbeStatus.MALFORMED)


def repeat(
    count: int, interval_s: float, once: Callable[[], Attempt], clock: Clock
) -> tuple[Attempt, ...]:
    """Attempts at a steady pace; a slow one delays the next and is not made up for."""
    start, attempts = clock.monotonic(), []
    for number in range(count):
        pause_until(start + number * interval_s, clock)
        attempts.append(once())
    return tuple(attempts)
