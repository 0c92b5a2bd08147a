"""The bulk resolver: one final result for each question, over few long-lived sockets."""

import os
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.clock import Clock, SystemClock
from core.errors import BadInput
from core.records import Answer
from crawlers.engine.config import EngineConfig, EngineStats, OutageLimit, Question, Result
from crawlers.engine.nameservers import Server
from crawlers.engine.query_run import Run
from crawlers.engine.rate_limit import (
    Limiter,
    LocalRateLimits,
    RateLimiter,
    Rates,
    TotalRateLimiter,
)
from crawlers.engine.retransmit_timer import CongestionWindow, RoundTripEstimator
from crawlers.engine.sockets import Peer, Sockets

__all__ = ["Engine", "EngineConfig", "EngineStats", "OutageLimit", "Question", "Result"]
# Servers found on the way that are remembered with their round-trip time and health.
_KEPT_PEERS = 50_000


class Engine:
    """A bulk resolver on fixed servers; use it as a context manager or call ``close``."""

    def __init__(
        self,
        servers: Sequence[Server],
        config: EngineConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not servers:
            raise BadInput("name at least one server", field="name-server")
        self.servers = tuple(servers)
        self.config = config or EngineConfig()
        self.clock = clock or SystemClock()
        self.stats = EngineStats()
        # Added to a monotonic time it gives seconds since 1970, for the whole life of the engine.
        self.epoch = self.clock.now().timestamp() - time.monotonic()
        rate = self.config.rate_per_server
        self.pace = self.config.pace or (LocalRateLimits(Rates(rate)) if rate else None)
        total = self.config.total_rate
        self._total = RateLimiter(LocalRateLimits(Rates(total)), "total") if total else None
        self.sockets = Sockets(max(1, self.config.sockets // len(self.servers)), self.config.window)
        self.own_peers = [self._create_peer(server) for server in self.servers]
        for peer in self.own_peers:
            peer.is_own = True
            self.sockets.connect(peer)
        self._peers = {peer.server: peer for peer in self.own_peers}
        self._ids: list[bytes] = []
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every socket; queries in flight are forgotten."""
        self.sockets.close()
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_local(self) -> bool:
        """Whether every server is located on this machine."""
        return all(s.is_loopback for s in self.servers)

    def resolve(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Answer]]:
        """Ask every question; yields (question, final answer) in order of arrival.

        Memory is bounded by the window: ``questions`` is read only as answers come in.
        """
        for result in self.ask(questions):
            yield result.question, result.as_answer()

    def ask(self, questions: Iterable[Question]) -> Iterator[Result]:
        """The same with results in packed form, for many millions of questions."""
        run = self.open_run()
        run.ask(questions)
        while not run.is_over:
            yield from run.step()

    def open_run(self) -> Run:
        """A run with a loop in the caller; an earlier run of this engine ends with it."""
        self.end_runs()
        return Run(self)

    def end_runs(self) -> None:
        """Forget what earlier runs of this engine wait for."""
        for channel in self.sockets.channels():
            channel.pending.clear()
            channel.overdue.clear()
        for peer in self._peers.values():
            peer.held.clear()
            peer.compiled_in_flight = peer.row = 0

    def available_peers(self, now: float) -> list[Peer]:
        """The engine's own servers that are worth asking; all of them when none is."""
        return [p for p in self.own_peers if not p.health.rests(now)] or self.own_peers

    def peer_of(self, server: Server) -> Peer:
        """What is known of a server, own or found."""
        peer = self._peers.get(server)
        if peer is None:
            if len(self._peers) >= _KEPT_PEERS:
                self._drop_idle_peers()
            peer = self._peers[server] = self._create_peer(server)
            self.sockets.share(peer)
        return peer

    def _create_peer(self, server: Server) -> Peer:
        limit_s = self.config.timeout_s
        first_s = min(limit_s, 0.2 if server.is_loopback else 1.0)
        return Peer(
            server,
            RoundTripEstimator(limit_s, first_s),
            self._create_gate(server),
            CongestionWindow(self.config.window),
        )

    def _create_gate(self, server: Server) -> Limiter | None:
        gate = RateLimiter(self.pace, str(server)) if self.pace else None
        return TotalRateLimiter(self._total, gate) if self._total else gate

    def _drop_idle_peers(self) -> None:
        for peer in list(self._peers.values()):
            waits = any(c.pending or c.overdue for c in peer.channels)
            is_busy = peer.held or peer.compiled_in_flight or waits
            if peer not in self.own_peers and not is_busy:
                self.sockets.remove(peer)
                del self._peers[peer.server]

    def allocate_ids(self, n: int, taken: Container[bytes]) -> list[bytes]:
        """Unpredictable ids of two bytes, none of them twice or among those that are taken."""
        free: dict[bytes, None] = {}
        while len(free) < n:
            if not self._ids:
                noise = os.urandom(8_192)
                self._ids = [noise[i : i + 2] for i in range(0, len(noise), 2)]
            some = self._ids[len(free) - n :]
            del self._ids[len(free) - n :]
            free.update({i: None for i in some if i not in taken})
        return list(free)

    def allocate_id(self) -> bytes:
        """One unpredictable id, two bytes."""
        return self.allocate_ids(1, ())[0]

    def pool(self) -> ThreadPoolExecutor:
        """Threads for TCP, made when first needed."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.config.tcp_parallel, "dns-tcp")
        return self._pool
