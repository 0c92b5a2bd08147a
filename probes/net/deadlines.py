"""Deadlines, pauses and the moment at which the kernel saw a packet."""

import select
import socket
import struct
from collections.abc import Sequence
from typing import Any

from core.clock import Clock
from probes.records import ProbeStatus

# Linux's number for nanosecond receive stamps; the socket module does not name it.
SO_TIMESTAMPNS = 35
_STAMP = struct.Struct("@ll")
# A packet that waited longer than this had its stamp from another clock.
_LONGEST_WAIT_S = 5.0
# Readings of two clocks that lie further apart are of two moments; the last one counts anyway.
_APART_S, _READINGS = 20e-6, 5
# The largest datagram that is read; what is longer cannot be a reply to any probe.
MAX_DATAGRAM = 65_536

_REFUSED = (ConnectionRefusedError,)
_RESET = (ConnectionResetError, BrokenPipeError, ConnectionAbortedError)
# Numbers of "network", "host", "host is down" and "no address here" of Linux.
_UNREACHABLE = frozenset({99, 101, 112, 113, 97})


def status_of_error(error: OSError) -> ProbeStatus:
    """Map an error of a socket to a status."""
    if isinstance(error, TimeoutError):
        return ProbeStatus.TIMEOUT
    if isinstance(error, _REFUSED):
        return ProbeStatus.REFUSED
    if isinstance(error, _RESET):
        return ProbeStatus.RESET
    if isinstance(error, PermissionError):
        return ProbeStatus.NOT_PERMITTED
    return ProbeStatus.UNREACHABLE if error.errno in _UNREACHABLE else ProbeStatus.NETWORK


def wait_readable(sockets: Sequence[Any], deadline: float, clock: Clock) -> list[Any]:
    """Those of the sockets that can be read before the deadline; none at the deadline."""
    left = deadline - clock.monotonic()
    if left <= 0:
        return []
    poll = select.poll()
    by_number = {s.fileno(): s for s in sockets}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(left * 1000.0)]


def stamp_arrivals(sock: socket.socket) -> None:
    """Ask the kernel to note when each packet came in."""
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def receive(
    sock: socket.socket, clock: Clock, since: float = float("-inf")
) -> tuple[bytes, Any, float]:
    """One datagram, its sender, and the monotonic time at which it came in.

    The time that passed until this process was woken is taken off, by the kernel's stamp; so a
    busy machine does not lengthen what is measured. Clocks are read to a microsecond or so, hence
    ``since``: no answer comes before its question. Raises ``OSError``.
    """
    data, notes, _, sender = sock.recvmsg(MAX_DATAGRAM, 128, socket.MSG_DONTWAIT)
    return data, sender, max(since, arrival(notes, clock))


def arrival(notes: list[tuple[int, int, bytes]], clock: Clock) -> float:
    """When the kernel took a packet in, by the stamp in what came with it; without one, now.

    Both clocks are read at the same moment: a process that lost the processor between them would
    take the time until it had it back for waiting of the packet's, and measure too little.
    """
    for _ in range(_READINGS):
        before, wall_s, after = clock.monotonic(), clock.now().timestamp(), clock.monotonic()
        if after - before < _APART_S:
            break
    return (before + after) / 2 - _waited_s(notes, wall_s)


def _waited_s(notes: list[tuple[int, int, bytes]], wall_s: float) -> float:
    for level, kind, value in notes:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS) and len(value) >= _STAMP.size:
            seconds, nanos = _STAMP.unpack_from(value)
            waited = wall_s - seconds - nanos / 1e9
            return waited if 0.0 < waited < _LONGEST_WAIT_S else 0.0
    return 0.0


def pause_until(moment: float, clock: Clock) -> None:
    """Sleep until a monotonic moment, if it lies ahead."""
    left = moment - clock.monotonic()
    if left > 0:
        clock.sleep(left)
