"""Zone transfers (AXFR): zones with their servers go in, a harvest per zone comes out.

Many transfers stream in side by side in one thread; each server is asked in turn until one gives
the zone. Records, bytes, silence and time are bounded, for each transfer and in parallel.
"""

import secrets
import selectors
import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from core.statuses import DnsStatus, Technique
from crawlers.engine import Engine
from crawlers.servers import Server
from crawlers.sources.axfr import BUDGET, MAX_OCTETS, MAX_RECORDS, Feed, Limits
from crawlers.sources.form import Harvest, Zone

_CHUNK_OCTETS = 65_536
_TICK_S = 0.1
# After so many connections in a row that came to nothing, a server is not waited for any more.
_DEAD_AFTER = 3
# The status of a zone is the most telling one that its servers gave.
_TELLING = (
    DnsStatus.TRUNCATED,
    BUDGET,
    DnsStatus.MALFORMED,
    DnsStatus.REFUSED,
    DnsStatus.NXDOMAIN,
    DnsStatus.NOTIMP,
    DnsStatus.FORMERR,
    DnsStatus.SERVFAIL,
    DnsStatus.OTHER,
    DnsStatus.TIMEOUT,
    DnsStatus.NETWORK,
)
_UNREACHED = (DnsStatus.TIMEOUT, DnsStatus.NETWORK)


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """Bounds; ``per_server`` connections at a time are polite, ``parallel`` in all."""

    parallel: int = 16
    per_server: int = 4
    servers: int = 13
    silence_s: float = 5.0
    whole_s: float = 120.0
    records: int = MAX_RECORDS
    octets: int = MAX_OCTETS


@dataclass(frozen=True, slots=True)
class Transfers:
    """Whole zones, where a server gives them.

    Names of a transfer that was cut are left out unless ``partial`` says otherwise, since what
    is missing cannot be known; its status stays.
    """

    limits: TransferLimits = TransferLimits()
    partial: bool = False

    technique = Technique.AXFR
    is_zone_data = True

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone, as they end; a zone without servers is ``SKIPPED``."""
        crowd = _Crowd(self.limits)
        try:
            for zone in zones:
                crowd.add(zone)
            while crowd.busy:
                crowd.step()
                yield from (self._harvest_of(order) for order in crowd.take_done())
        finally:
            crowd.close()

    def _harvest_of(self, order: "_Order") -> Harvest:
        status = order.status
        feed = order.feed
        keep = feed is not None and (status == "OK" or self.partial)
        return Harvest(
            order.zone.domain,
            status=status,
            names=feed.names if feed and keep else (),
            complete=status == "OK",
            wildcard=bool(feed and feed.wildcard),
            queries=order.queries,
            failed=dict(order.failed),
        )


@dataclass(slots=True)
class _Order:
    """One zone on its way from server to server; ``feed`` is the one that gave most."""

    zone: Zone
    left: deque[Server]
    feed: Feed | None = None
    queries: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def status(self) -> str:
        if self.feed is not None and self.feed.status == "OK":
            return "OK"
        return next((str(s) for s in _TELLING if s in self.failed), str(DnsStatus.SKIPPED))

    def learn(self, feed: Feed, status: str) -> None:
        if self.feed is None or status == "OK" or feed.records > self.feed.records:
            self.feed = feed
        if status != "OK":
            self.failed[str(status)] += 1


@dataclass(slots=True)
class _Connection:
    """An open transfer; silence and the whole have an end in monotonic seconds."""

    order: _Order
    server: Server
    sock: socket.socket
    feed: Feed
    ends_at: float
    silent_at: float
    sent: bool = False


class _Host:
    """What waits for one server, and how it does."""

    __slots__ = ("failures", "open", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Order] = deque()
        self.open = 0
        self.failures = 0

    @property
    def is_dead(self) -> bool:
        return self.failures >= _DEAD_AFTER


class _Crowd:
    """All transfers of one harvest: those that wait, are open, and are done."""

    def __init__(self, limits: TransferLimits) -> None:
        self._limits = limits
        self._hosts: defaultdict[Server, _Host] = defaultdict(_Host)
        # Servers with somebody waiting and room for a connection, each once.
        self._ready: dict[Server, None] = {}
        self._selector = selectors.DefaultSelector()
        self._open: dict[int, _Connection] = {}
        self._done: list[_Order] = []
        self._checked_at = 0.0

    @property
    def busy(self) -> bool:
        return bool(self._open or self._ready or self._done)

    def add(self, zone: Zone) -> None:
        servers = tuple(dict.fromkeys(zone.servers))[: self._limits.servers]
        self._pass_on(_Order(zone, deque(servers)))

    def take_done(self) -> list[_Order]:
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        for connection in self._open.values():
            connection.sock.close()
        self._open.clear()
        self._selector.close()

    def step(self) -> None:
        """Open what there is room for, read what came, end what takes too long."""
        self._fill()
        if not self._open:
            return
        for key, _ in self._selector.select(_TICK_S):
            self._serve(key.data)
        now = time.monotonic()
        if now - self._checked_at >= _TICK_S:
            self._checked_at = now
            self._end_late(now)

    def _pass_on(self, order: _Order) -> None:
        """To the next server of the zone, or out."""
        if not order.left:
            self._done.append(order)
            return
        server = order.left.popleft()
        host = self._hosts[server]
        host.waiting.append(order)
        self._offer(server, host)

    def _offer(self, server: Server, host: _Host) -> None:
        if host.waiting and host.open < self._limits.per_server:
            self._ready[server] = None

    def _fill(self) -> None:
        while self._ready and len(self._open) < self._limits.parallel:
            server = next(iter(self._ready))
            # Taken out and put back at the end, so that servers take turns.
            del self._ready[server]
            host = self._hosts[server]
            order = host.waiting.popleft()
            if host.is_dead:
                order.failed[str(DnsStatus.TIMEOUT)] += 1
                self._pass_on(order)
            else:
                self._connect(order, server, host)
            self._offer(server, host)

    def _connect(self, order: _Order, server: Server, host: _Host) -> None:
        feed = Feed(
            order.zone.domain,
            secrets.randbelow(65_536),
            Limits(self._limits.records, self._limits.octets),
        )
        family = socket.AF_INET6 if server.is_ipv6 else socket.AF_INET
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            return self._settle(order, host, feed, DnsStatus.NETWORK)
        sock.setblocking(False)
        order.queries += 1
        try:
            with suppress(BlockingIOError):
                sock.connect((server.address, server.port))
        except OSError:
            sock.close()
            return self._settle(order, host, feed, DnsStatus.NETWORK)
        now = time.monotonic()
        limits = self._limits
        connection = _Connection(
            order, server, sock, feed, now + limits.whole_s, now + limits.silence_s
        )
        host.open += 1
        self._open[sock.fileno()] = connection
        self._selector.register(sock, selectors.EVENT_WRITE, connection)
        return None

    def _serve(self, connection: _Connection) -> None:
        try:
            if connection.sent:
                self._receive(connection)
            else:
                # A query is far smaller than any send buffer; a failed connect raises here.
                connection.sock.send(connection.feed.query)
                connection.sent = True
                self._selector.modify(connection.sock, selectors.EVENT_READ, connection)
        except BlockingIOError:
            return
        except OSError:
            # A connection that was reset in the middle of a zone has cut it.
            cut = connection.feed.records
            self._close(connection, DnsStatus.TRUNCATED if cut else DnsStatus.NETWORK)

    def _receive(self, connection: _Connection) -> None:
        chunk = connection.sock.recv(_CHUNK_OCTETS)
        feed = connection.feed
        if chunk:
            connection.silent_at = time.monotonic() + self._limits.silence_s
            feed.take(chunk)
        else:
            feed.end()
        if feed.status:
            self._close(connection, feed.status)

    def _end_late(self, now: float) -> None:
        for connection in list(self._open.values()):
            if now >= connection.ends_at and connection.feed.records:
                self._close(connection, BUDGET)
            elif now >= connection.silent_at or now >= connection.ends_at:
                self._close(connection, DnsStatus.TIMEOUT)

    def _close(self, connection: _Connection, status: str) -> None:
        sock = connection.sock
        self._selector.unregister(sock)
        del self._open[sock.fileno()]
        sock.close()
        host = self._hosts[connection.server]
        host.open -= 1
        self._settle(connection.order, host, connection.feed, status)
        self._offer(connection.server, host)

    def _settle(self, order: _Order, host: _Host, feed: Feed, status: str) -> None:
        host.failures = host.failures + 1 if status in _UNREACHED and not feed.records else 0
        order.learn(feed, status)
        if status == "OK":
            self._done.append(order)
        else:
            self._pass_on(order)
