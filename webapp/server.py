"""The web server: ``python -m webapp.server`` serves the site with read timeouts.

The head of a request and each chunk of its body have a deadline (slow-loris protection); beyond a
limit of idle connections the oldest is closed.
"""

import argparse
import asyncio
import gc
import os
import resource
import sys
from collections.abc import Sequence
from typing import Any, cast

import h11
import uvicorn
from django.conf import settings
from uvicorn.protocols.http.h11_impl import H11Protocol

from webapp.access_log import install_redaction

# Limit of connections without a request per client address.
MOST_SILENT_EACH = 200
# Newer connections may have sent a request that was not read yet.
FRESH_S = 3.0
BACKLOG = 2048
# Connections to PostgreSQL, for which the threads of requests wait.
DATABASE_POOL = 20
MOST_FILES = 16_384
SWITCH_S = 0.002
TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: 33\r\nConnection: close\r\n\r\nthe request took too long to come"
)


class IdleConnections:
    """Connections without a complete request head, by client address, oldest first."""

    def __init__(self) -> None:
        # The rest is for requests, the database and what it reads.
        self.most = max(64, _raise_limit() // 2)
        self._since: dict[Connection, float] = {}
        self._by_address: dict[str, dict[Connection, None]] = {}

    def add(self, one: "Connection", now: float) -> None:
        """Add a connection; close the oldest beyond the limits."""
        own = self._by_address.setdefault(one.address, {})
        self._since[one], own[one] = now, None
        oldest = next(iter(own))
        if len(own) > MOST_SILENT_EACH and now - self._since[oldest] > FRESH_S:
            oldest.close_slow()
        if len(self._since) > self.most:
            next(iter(self._since)).close_slow()

    def remove(self, one: "Connection") -> None:
        """Remove a connection that sent a request or has ended."""
        if self._since.pop(one, None) is None:
            return
        own = self._by_address[one.address]
        del own[one]
        if not own:
            del self._by_address[one.address]


def _raise_limit() -> int:
    """Files that the process may open: as many as it may allow itself, within reason."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


_idle = IdleConnections()


class JoinedWrites:
    """A transport that sends what is written in one step of the event loop by one system call.

    The head of a response, its body and its end are written one by one; as packets of their own
    they cost the server and the client a system call and a wake-up each.
    """

    # More is sent at once, so that the transport's own limit holds back a fast producer.
    most = 64 * 1024

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes | None) -> None:
        """Send with what is written until the loop's next step."""
        if not data:
            return
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > self.most:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        data, self._held, self._size = b"".join(self._held), [], 0
        if data:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held, then close."""
        self.flush()
        self._transport.close()


class Connection(H11Protocol):
    """One connection with read timeouts."""

    head_s = 10.0
    # Between two pieces of a body, and for all of them.
    piece_s, body_s = 15.0, 300.0
    _timer: asyncio.TimerHandle | None = None
    _is_due = ""
    _body_since = 0.0

    @property
    def address(self) -> str:
        """Who has connected; a local socket has no address."""
        return str(self.client[0]) if self.client else ""

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the request head."""
        super().connection_made(cast(asyncio.Transport, JoinedWrites(transport, self.loop)))
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process bytes and set the next deadline."""
        super().data_received(data)
        state = self.conn.their_state
        if self.transport.is_closing():
            self._expect_nothing()
        elif state is h11.SEND_BODY:
            self._expect_body()
        elif state is not h11.IDLE:
            self._expect_nothing()
        elif self._is_due != "head":
            # The next request of a connection that is kept: its head has begun.
            self._expect_head()

    def close_slow(self) -> None:
        """Close the connection, with 408 if no response has begun."""
        self._expect_nothing()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(TOO_SLOW)
        self.transport.close()

    def _expect_head(self) -> None:
        self._expect_nothing()
        self._is_due = "head"
        self._timer = self.loop.call_later(self.head_s, self.close_slow)
        _idle.add(self, self.loop.time())

    def _expect_body(self) -> None:
        since = self._body_since if self._is_due == "body" else self.loop.time()
        self._expect_nothing()
        self._is_due, self._body_since = "body", since
        left = since + self.body_s - self.loop.time()
        self._timer = self.loop.call_later(min(self.piece_s, max(left, 0.0)), self._miss_piece)

    def _miss_piece(self) -> None:
        if self.flow.read_paused and self.loop.time() < self._body_since + self.body_s:
            # It is our turn: what has come is not read yet.
            self._expect_body()
        else:
            self.close_slow()

    def _expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._is_due = None, ""
        _idle.remove(self)


def create_server(host: str, port: int, log_level: str = "warning") -> uvicorn.Server:
    """Return a configured server with the site loaded."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    os.environ.setdefault("NEPHOSCOPE_DATABASE_POOL", str(DATABASE_POOL))
    config = uvicorn.Config(
        "webapp.asgi:application",
        host=host,
        port=port,
        log_level=log_level,
        # As JSON, the server's lines go through the handler of all others.
        log_config=None if settings.LOG_FORMAT == "json" else uvicorn.config.LOGGING_CONFIG,
        http=Connection,
        lifespan="off",
        backlog=BACKLOG,
        timeout_graceful_shutdown=2,
        # X-Forwarded-For of other senders could be forged.
        forwarded_allow_ips=settings.PROXIES,
    )
    config.load()
    install_redaction()
    # Loaded modules are exempt from garbage collection, since its pauses delay requests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    # A request yields many times; it waits this long each time while another computes.
    sys.setswitchinterval(SWITCH_S)
    return uvicorn.Server(config)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the site and its API.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--log-level", default="info")
    given = parser.parse_args(arguments)
    create_server(given.host, given.port, given.log_level).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
