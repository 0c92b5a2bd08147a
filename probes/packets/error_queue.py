"""Unprivileged traceroute: datagrams of one socket, and the socket's error queue in the kernel.

One packet is outstanding at a time: routers may quote too little to distinguish packets.
"""

import select
import socket
import struct
from collections.abc import Sequence
from typing import Any

from core.clock import Clock
from probes.net.deadlines import arrival, stamp_arrivals
from probes.net.ssrf_guard import Endpoint
from probes.packets.headers import PORT_UNREACHABLE, TIME_EXCEEDED
from probes.packets.hops import Reply
from probes.packets.traceroute_packets import UDP_PORT

# Linux's numbers, which the socket module does not name; level, switch.
_RECEIVE_ERRORS = {4: (socket.IPPROTO_IP, 11), 6: (socket.IPPROTO_IPV6, 25)}
_ERROR = struct.Struct("@IBBBBII")
# Who answered, as what, and when the answer came in.
Found = tuple[str, str, float]


class Queue:
    """A connected socket that keeps its errors; use it as a context."""

    def __init__(self, endpoint: Endpoint, timeout_s: float, clock: Clock) -> None:
        self._endpoint, self._timeout_s, self._clock = endpoint, timeout_s, clock
        self.source = ""

    def __enter__(self) -> "Queue":
        self._sock = socket.socket(self._endpoint.domain, socket.SOCK_DGRAM)
        level, switch = _RECEIVE_ERRORS[self._endpoint.family]
        self._sock.setsockopt(level, switch, 1)
        stamp_arrivals(self._sock)
        self._sock.connect((self._endpoint.address, self._endpoint.port or UDP_PORT))
        self.source = str(self._sock.getsockname()[0])
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def send(self, places: Sequence[tuple[int, int]]) -> list[Reply]:
        """Send one packet per place and wait for each; nothing beyond the target is probed."""
        replies: list[Reply] = []
        ended = 1 << 8
        for ttl, flow in places:
            if ttl > ended:
                replies.append(Reply(ttl, flow))
                continue
            reply = self._ask(ttl, flow)
            if reply.kind not in ("hop", "silent"):
                ended = ttl
            replies.append(reply)
        return replies

    def _ask(self, ttl: int, flow: int) -> Reply:
        family = self._endpoint.family
        level = _RECEIVE_ERRORS[family][0]
        option = socket.IP_TTL if family == 4 else socket.IPV6_UNICAST_HOPS
        self._sock.setsockopt(level, option, ttl)
        while self._error():  # Late errors of earlier packets are dropped.
            pass
        start = self._clock.monotonic()
        self._send(b"nephoscope")
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        while (left_s := start + self._timeout_s - self._clock.monotonic()) > 0:
            poll.poll(left_s * 1e3)
            found = self._error() or self._data()
            if found:
                address, kind, at = found
                return Reply(ttl, flow, address, max(0.0, at - start) * 1e3, kind)
        return Reply(ttl, flow)

    def _send(self, payload: bytes) -> None:
        try:
            self._sock.send(payload)
        except OSError:
            # The error of an earlier packet is reported here first; the second call sends it.
            self._sock.send(payload)

    def _error(self) -> Found | None:
        try:
            _, notes, _, _ = self._sock.recvmsg(512, 512, socket.MSG_ERRQUEUE)
        except OSError:
            return None
        for level, kind, value in notes:
            if (level, kind) == _RECEIVE_ERRORS[self._endpoint.family]:
                found = self._read(value)
                return None if found is None else (*found, arrival(notes, self._clock))
        return None

    def _data(self) -> Found | None:
        try:
            self._sock.recv(64, socket.MSG_DONTWAIT)
        except OSError:
            return None
        return self._endpoint.address, "target", self._clock.monotonic()

    def _read(self, note: bytes) -> tuple[str, str] | None:
        """Who sent the error, and as what."""
        family = self._endpoint.family
        at = 4 if family == 4 else 8
        octets = 4 if family == 4 else 16
        if len(note) < _ERROR.size + at + octets:
            return None
        fields: Any = _ERROR.unpack_from(note)
        address = note[_ERROR.size + at : _ERROR.size + at + octets]
        sender = socket.inet_ntop(self._endpoint.domain, address)
        if fields[2] == TIME_EXCEEDED[family]:
            return sender, "hop"
        at_port = fields[3] == PORT_UNREACHABLE[family] and sender == self._endpoint.address
        return sender, "target" if at_port else "other"
