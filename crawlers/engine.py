"""The bulk resolver: questions in, one final answer each out, over few long-lived sockets."""

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from core.clock import Clock, SystemClock
from core.errors import BadInput
from core.records import Answer
from crawlers.limits import RoundTrip, TokenBucket
from crawlers.questions import EngineConfig, EngineStats, Question
from crawlers.servers import Server
from crawlers.window import Window

__all__ = ["Engine", "EngineConfig", "EngineStats", "Question"]
RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024


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
        self._peers = [(s.address, s.port) for s in self.servers]
        self._sockets = self._open_sockets()
        self._by_fd = {s.fileno(): i for i, s in enumerate(self._sockets)}
        self._poll = select.poll()
        for sock in self._sockets:
            self._poll.register(sock.fileno(), select.POLLIN)
        rate = self.config.rate_per_server
        self._buckets = [TokenBucket(rate) for _ in self.servers] if rate else None
        self._next_server = 0
        self._next_socket = 0
        self._ids: list[int] = []
        limit_s = self.config.timeout_s
        self._rtt = [
            RoundTrip(limit_s, min(limit_s, 0.1 if s.is_loopback else 1.0)) for s in self.servers
        ]
        self._epoch = self.clock.now().timestamp() - time.monotonic()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every socket; questions in flight are forgotten."""
        for sock in self._sockets:
            sock.close()
        self._sockets = []
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_local(self) -> bool:
        """Whether every server stands on this machine."""
        return all(s.is_loopback for s in self.servers)

    def _open_sockets(self) -> list[socket.socket]:
        families = [socket.AF_INET6 if s.is_ipv6 else socket.AF_INET for s in self.servers]
        sockets = []
        for family in dict.fromkeys(families):
            for _ in range(self.config.sockets):
                sock = socket.socket(family, socket.SOCK_DGRAM)
                sock.setblocking(False)
                with contextlib.suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
                sockets.append(sock)
        self._socket_choices = [
            [i for i, sock in enumerate(sockets) if sock.family == family] for family in families
        ]
        return sockets

    def resolve(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Answer]]:
        """Ask every question; yields (question, final answer) in order of arrival.

        Memory is bounded by the window: ``questions`` is read only as answers come in.
        """
        run = Window(self, iter(questions))
        while run.step():
            yield from run.take_done()
        yield from run.take_done()

    def random_id(self) -> int:
        """An unpredictable 16-bit number."""
        if not self._ids:
            self._ids = list(struct.unpack("!2048H", os.urandom(4096)))
        return self._ids.pop()

    def pool(self) -> ThreadPoolExecutor:
        """Threads for TCP, made when first needed."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.config.tcp_parallel, "dns-tcp")
        return self._pool
