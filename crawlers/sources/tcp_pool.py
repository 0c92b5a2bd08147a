"""Run many TCP exchanges with name servers concurrently in one thread.

Each exchange is tried at its zone's servers in turn. Connections in all and per server, idle time,
total time and memory are bounded; queries follow the rate limits of the engine.
"""

import heapq
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import Protocol

from core.statuses import DnsStatus
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Server
from crawlers.engine.rate_limit import Pace, RateLimiter

# The peer ended the conversation; and it took more time, bytes or records than it may.
CLOSED, BUDGET = "CLOSED", "BUDGET"
_CHUNK_OCTETS = 65_536
_TICK_S = 0.1
# After so many connections in a row that came to nothing, a server is not waited for any more.
_DEAD_AFTER = 3
_NEVER = float("inf")


class Next(Enum):
    """Where an exchange goes when a connection is over."""

    OVER = "over"
    SAME = "same server"
    ELSEWHERE = "next server"


class Exchange(Protocol):
    """What one zone wants of its servers."""

    @property
    def weight(self) -> int:
        """Records held in memory."""

    def start(self) -> bytes:
        """A connection will be made; gives what to send on it first."""

    def receive(self, chunk: bytes) -> bytes | None:
        """Bytes came: what to send next, nothing, or ``None`` to hang up."""

    def leave(self, fault: str | None) -> Next:
        """The connection is over, by itself or by CLOSED, BUDGET, TIMEOUT or NETWORK."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Bounds: ``per_server`` connections to one server at a time, ``parallel`` in all.

    ``silence_s`` is how long a server may be silent, ``whole_s`` how long one server may take.
    ``held`` records may be in memory before the exchange that holds most is ended.
    """

    parallel: int = 64
    per_server: int = 4
    servers: int = 13
    silence_s: float = 5.0
    whole_s: float = 120.0
    held: int = 2_000_000


def split_messages(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Whole messages with their two length bytes taken off, and where each ends."""
    at = 0
    while len(data) - at >= 2:
        end = at + 2 + (data[at] << 8 | data[at + 1])
        if end > len(data):
            return
        yield data[at + 2 : end], end
        at = end


@dataclass(slots=True)
class _Work:
    """An exchange, the servers that are left for it, and the time it has at the present one."""

    exchange: Exchange
    left: deque[Server]
    left_s: float


class _Host:
    """What waits for one server, and how it does."""

    __slots__ = ("failures", "fault", "gate", "open", "server", "waiting")

    def __init__(self, server: Server, pace: Pace | None) -> None:
        self.server = server
        self.waiting: deque[_Work] = deque()
        self.open = 0
        self.failures = 0
        self.fault = ""
        self.gate = RateLimiter(pace, str(server)) if pace else None

    @property
    def is_dead(self) -> bool:
        return self.failures >= _DEAD_AFTER

    def note(self, fault: str | None, *, answered: bool) -> None:
        failed = not answered and fault in (DnsStatus.TIMEOUT, DnsStatus.NETWORK)
        self.failures = self.failures + 1 if failed else 0
        self.fault = fault or ""


class _Connection:
    """An open socket; times are monotonic seconds."""

    __slots__ = ("ends_at", "answered", "host", "order", "outbound", "silent_at", "sock", "state")

    def __init__(self, order: _Work, host: _Host, sock: socket.socket, outbound: bytes) -> None:
        self.order = order
        self.host = host
        self.sock = sock
        # What has to be sent as soon as the pace permits it.
        self.outbound = outbound
        self.state = "connecting"
        self.answered = False
        self.ends_at = self.silent_at = _NEVER


class TcpPool:
    """All exchanges of one harvest: those that wait, are under way, and are done."""

    def __init__(self, limits: StreamLimits, engine: Engine) -> None:
        self._limits = limits
        self._stats = engine.stats
        self._pace: Pace | None = engine.pace
        self._hosts: dict[Server, _Host] = {}
        # Servers with waiting exchanges and a free connection, each once.
        self._ready: dict[Server, None] = {}
        self._selector = selectors.DefaultSelector()
        self._open: dict[int, _Connection] = {}
        self._later: list[tuple[float, int, _Connection]] = []
        self._order_of_waiting = count()
        self._done: list[Exchange] = []
        self._checked_at = 0.0

    def run(self, exchanges: Iterable[tuple[Exchange, Iterable[Server]]]) -> Iterator[Exchange]:
        """Every exchange once, when it is over; closes all connections however it ends."""
        try:
            for exchange, servers in exchanges:
                left = deque(dict.fromkeys(servers))
                while len(left) > self._limits.servers:
                    left.pop()
                self._pass_on(_Work(exchange, left, 0.0))
            while self._open or self._ready or self._done:
                self._step()
                done, self._done = self._done, []
                yield from done
        finally:
            for connection in self._open.values():
                connection.sock.close()
            self._selector.close()

    def _step(self) -> None:
        """Open what there is space for, send and read what can be, end what takes too long."""
        self._fill()
        if not self._open:
            return
        for key, _ in self._selector.select(self._send_later()):
            self._serve(key.data)
        now = time.monotonic()
        if now - self._checked_at >= _TICK_S:
            self._checked_at = now
            self._end_late(now)
            self._end_heavy()

    def _pass_on(self, order: _Work) -> None:
        """To the next server of the zone, or out."""
        if not order.left:
            self._done.append(order.exchange)
            return
        order.left_s = self._limits.whole_s
        self._queue(order, order.left.popleft())

    def _queue(self, order: _Work, server: Server) -> None:
        host = self._hosts.get(server)
        if host is None:
            host = self._hosts[server] = _Host(server, self._pace)
        host.waiting.append(order)
        self._offer(host)

    def _offer(self, host: _Host) -> None:
        if host.waiting and host.open < self._limits.per_server:
            self._ready[host.server] = None

    def _fill(self) -> None:
        while self._ready and len(self._open) < self._limits.parallel:
            server = next(iter(self._ready))
            # Taken out and put back at the end, so that servers take turns.
            del self._ready[server]
            host = self._hosts[server]
            order = host.waiting.popleft()
            if host.is_dead:
                self._settle(order, host, host.fault)
            else:
                self._connect(order, host)
            self._offer(host)

    def _connect(self, order: _Work, host: _Host) -> None:
        server, sock = host.server, None
        outbound = order.exchange.start()
        try:
            family = socket.AF_INET6 if server.is_ipv6 else socket.AF_INET
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setblocking(False)
            with suppress(BlockingIOError):
                sock.connect((server.address, server.port))
        except OSError:
            if sock:
                sock.close()
            host.note(DnsStatus.NETWORK, answered=False)
            self._settle(order, host, DnsStatus.NETWORK)
            return
        connection = _Connection(order, host, sock, outbound)
        now = time.monotonic()
        connection.ends_at, connection.silent_at = now + order.left_s, now + self._limits.silence_s
        host.open += 1
        self._open[sock.fileno()] = connection
        self._selector.register(sock, selectors.EVENT_WRITE, connection)

    def _serve(self, connection: _Connection) -> None:
        sock = connection.sock
        if connection.state == "connecting":
            if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._close(connection, DnsStatus.NETWORK)
                return
            connection.state = "open"
            self._selector.modify(sock, selectors.EVENT_READ, connection)
            self._send(connection)
            return
        try:
            chunk = sock.recv(_CHUNK_OCTETS)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._receive(connection, chunk)
        else:
            self._close(connection, CLOSED)

    def _receive(self, connection: _Connection, chunk: bytes) -> None:
        connection.answered = True
        connection.silent_at = time.monotonic() + self._limits.silence_s
        reply = connection.order.exchange.receive(chunk)
        if reply is None:
            self._close(connection, None)
        elif reply:
            connection.outbound += reply
            self._send(connection)

    def _send(self, connection: _Connection) -> None:
        """Send what is outbound, or put the connection where it waits for its turn."""
        if not connection.outbound:
            return
        gate, now = connection.host.gate, time.monotonic()
        wait_s = gate.acquire(now) if gate else 0.0
        if wait_s > 0:
            # Waiting for one's turn is no silence of the server's.
            connection.silent_at = _NEVER
            item = now + wait_s, next(self._order_of_waiting), connection
            heapq.heappush(self._later, item)
            return
        connection.silent_at = now + self._limits.silence_s
        data, connection.outbound = connection.outbound, b""
        self._stats.queries += 1
        self._stats.tcp += 1
        try:
            # A query is far smaller than any send buffer.
            whole = connection.sock.send(data) == len(data)
        except OSError:
            whole = False
        if not whole:
            self._close(connection, CLOSED)

    def _send_later(self) -> float:
        """Send what has its turn by now; gives how long the next has to wait."""
        later, now = self._later, time.monotonic()
        for _ in range(len(later)):
            if later[0][0] > now:
                break
            connection = heapq.heappop(later)[2]
            if connection.state == "open":
                self._send(connection)
        return min(_TICK_S, max(0.0, later[0][0] - now)) if later else _TICK_S

    def _end_late(self, now: float) -> None:
        for connection in list(self._open.values()):
            if now >= connection.ends_at:
                self._close(connection, BUDGET if connection.answered else DnsStatus.TIMEOUT)
            elif now >= connection.silent_at:
                self._close(connection, DnsStatus.TIMEOUT)

    def _end_heavy(self) -> None:
        weights = {fileno: c.order.exchange.weight for fileno, c in self._open.items()}
        if sum(weights.values()) > self._limits.held:
            self._close(self._open[max(weights, key=weights.__getitem__)], BUDGET)

    def _close(self, connection: _Connection, fault: str | None) -> None:
        sock, host, order = connection.sock, connection.host, connection.order
        connection.state = "closed"
        self._selector.unregister(sock)
        del self._open[sock.fileno()]
        sock.close()
        host.open -= 1
        host.note(fault, answered=connection.answered)
        order.left_s = max(0.0, connection.ends_at - time.monotonic())
        self._settle(order, host, fault)
        self._offer(host)

    def _settle(self, order: _Work, host: _Host, fault: str | None) -> None:
        step = order.exchange.leave(fault)
        if step is Next.OVER:
            self._done.append(order.exchange)
        elif step is Next.SAME:
            self._queue(order, host.server)
        else:
            self._pass_on(order)
