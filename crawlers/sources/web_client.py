"""A bounded HTTP client for one web server: stream the body of a reply.

One request at a time per server in this process, with a pause between two; Retry-After is kept. A
redirect never leads to a private address, and decompression is bounded.
"""

import http.client
import socket
import ssl
import threading
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urljoin, urlsplit

from core.clock import Clock
from core.errors import BadInput, NephoscopeError
from crawlers.engine.nameservers import Network, may_query_found

_CHUNK_OCTETS = 65_536
_MAX_REDIRECTS = 3
_MAX_ADDRESSES = 4
# Names repeat in every row, so regular replies compress well, but not like a decompression bomb.
_MAX_RATIO = 200
_RATIO_FROM_OCTETS = 4 * 1024 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Statuses of a server that may answer later.
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


class Failed(NephoscopeError):
    """A request that came to nothing: ``status`` is one word, ``wait_s`` what the server asks."""

    def __init__(self, status: str, detail: str, *, again: bool, wait_s: float = 0.0) -> None:
        super().__init__(detail)
        self.status = status
        self.permanent = not again
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Manners and bounds of requests to one server.

    ``longest_wait_s`` is the longest that a server's wish to be left alone is waited for.
    """

    interval_s: float = 2.0
    longest_wait_s: float = 120.0
    silence_s: float = 60.0
    whole_s: float = 300.0
    octets: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Target:
    """Where one request goes; the addresses are those that were checked."""

    scheme: str
    host: str
    port: int
    path: str
    addresses: tuple[str, ...]

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == usual else f"{host}:{self.port}"


class _Request:
    """The queue of requests to one server, and when the next one may start."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.free_at = 0.0


_TURNS: dict[tuple[str, int], _Request] = {}
_TURNS_LOCK = threading.Lock()


def split_server_url(url: str) -> SplitResult:
    """An http or https URL without user, query and fragment; raises ``BadInput``."""
    try:
        parts = urlsplit(url)
        port_is_good = parts.port is None or 0 < parts.port < 65536
    except ValueError as error:
        raise BadInput(f"{url!r} is not a URL: {error}", field="ct-server") from error
    odd = parts.query or parts.fragment or parts.username or not url.isascii()
    if parts.scheme not in ("http", "https") or not parts.hostname or odd or not port_is_good:
        raise BadInput(f"{url!r} is not https://HOST[:PORT][/PATH]", field="ct-server")
    if any(c <= " " or c == "\x7f" for c in url):
        raise BadInput(f"{url!r} holds a space or control character", field="ct-server")
    return parts


class WebClient:
    """Asks one server that the user named; ``allowed`` opens networks to redirects."""

    def __init__(
        self,
        user_agent: str,
        limits: WebLimits,
        clock: Clock,
        allowed: Sequence[Network] = (),
    ) -> None:
        if not user_agent.isascii() or not user_agent.isprintable():
            raise BadInput("the contact is not plain ASCII text", field="contact")
        self._user_agent = user_agent
        self._limits = limits
        self._clock = clock
        self._allowed = tuple(allowed)
        self._context: ssl.SSLContext | None = None
        self.requests = 0

    def stream(self, url: str) -> Generator[bytes, None, None]:
        """Yield the body of a reply as it arrives; raise ``Failed``, also in its middle."""
        target = self._target(url, named=None)
        named = target
        for _ in range(_MAX_REDIRECTS + 1):
            with self._turn(target), self._reply(target) as reply:
                location = self._read_response(reply)
                if not location:
                    yield from self._body(reply)
                    return
            target = self._target(_join(target, location), named)
        raise Failed("REDIRECT", "the server redirects in circles", again=False)

    @contextmanager
    def _turn(self, target: _Target) -> Iterator[None]:
        """Allow one request at a time in this process, with a pause after it."""
        with _TURNS_LOCK:
            turn = _TURNS.setdefault((target.host, target.port), _Request())
        with turn.lock:
            wait_s = turn.free_at - self._clock.monotonic()
            if wait_s > self._limits.longest_wait_s:
                raise Failed("BUSY", "the server wants to be left alone for longer", again=False)
            if wait_s > 0:
                self._clock.sleep(wait_s)
            pause_s = self._limits.interval_s
            try:
                yield
            except Failed as failure:
                pause_s = max(pause_s, failure.wait_s)
                raise
            finally:
                turn.free_at = self._clock.monotonic() + pause_s

    @contextmanager
    def _reply(self, target: _Target) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(target.host, target.port)
        self.requests += 1
        deadline = _Deadline(self._limits.whole_s)
        try:
            # Connected here, to an address that was checked and no other.
            connection.sock = self._connect(target)
            deadline.watch(connection.sock)
            connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self._headers(target):
                connection.putheader(name, value)
            connection.endheaders()
            yield connection.getresponse()
            deadline.check()
        except Failed:
            deadline.check()
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            deadline.check()
            raise _explain(error) from error
        finally:
            deadline.cancel()
            connection.close()

    def _headers(self, target: _Target) -> tuple[tuple[str, str], ...]:
        return (
            ("Host", target.authority),
            ("User-Agent", self._user_agent),
            ("Accept", "application/json"),
            ("Accept-Encoding", "gzip"),
            ("Connection", "close"),
        )

    def _connect(self, target: _Target) -> socket.socket:
        sock = self._open(target)
        if target.scheme == "http":
            return sock
        self._context = self._context or ssl.create_default_context()
        try:
            return self._context.wrap_socket(sock, server_hostname=target.host)
        except (OSError, ValueError):
            sock.close()
            raise

    def _open(self, target: _Target) -> socket.socket:
        failure: OSError = OSError("no address")
        for address in target.addresses:
            try:
                return socket.create_connection((address, target.port), self._limits.silence_s)
            except OSError as error:
                failure = error
        raise failure

    def _target(self, url: str, named: _Target | None) -> _Target:
        """Where a URL leads; what the user named may lie anywhere, a redirect only outside."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise Failed(
                "REDIRECT", f"the redirect to {url!r} is not a URL", again=False
            ) from error
        if parts.scheme not in ("http", "https") or not host or not _is_writable(url):
            raise Failed("REDIRECT", f"the redirect to {url[:200]!r} is not followed", again=False)
        if named and named.scheme == "https" and parts.scheme == "http":
            raise Failed("REDIRECT", "the redirect leads to an open connection", again=False)
        port = port or {"http": 80, "https": 443}[parts.scheme]
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if named and (host, port) == (named.host, named.port):
            return _Target(parts.scheme, host, port, path, named.addresses)
        addresses = self._addresses(host, port, is_named=named is None)
        return _Target(parts.scheme, host, port, path, addresses)

    def _addresses(self, host: str, port: int, *, is_named: bool) -> tuple[str, ...]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Failed("NETWORK", f"{host[:80]!r} has no address", again=True) from error
        addresses = [str(entry[4][0]) for entry in found]
        good = [a for a in addresses if is_named or may_query_found(a, self._allowed)]
        if not good:
            raise Failed("REDIRECT", "the redirect leads to a private network", again=False)
        return tuple(dict.fromkeys(good))[:_MAX_ADDRESSES]

    def _read_response(self, reply: http.client.HTTPResponse) -> str:
        """Where the reply redirects to, or nothing where its body is what was requested."""
        if reply.status in _REDIRECTS:
            location = reply.headers.get("Location", "")
            if location:
                return location
            raise Failed("REDIRECT", "the redirect says not where to", again=False)
        if reply.status in BUSY:
            wait_s = _read_retry_after(reply.headers.get("Retry-After", ""), self._clock)
            raise Failed("BUSY", f"the server says {reply.status}", again=True, wait_s=wait_s)
        if reply.status != 200:
            raise Failed("REFUSED", f"the server says {reply.status}", again=False)
        return ""

    def _body(self, reply: http.client.HTTPResponse) -> Iterator[bytes]:
        encoding = reply.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "x-gzip", ""):
            raise Failed("MALFORMED", f"the encoding {encoding!r} was not asked for", again=False)
        unpack = _Unpacking(self._limits.octets, packed="gzip" in encoding)
        expected = reply.length
        try:
            while chunk := reply.read1(_CHUNK_OCTETS):
                yield from unpack.feed(chunk)
        except (ConnectionError, http.client.IncompleteRead) as error:
            raise Failed("TRUNCATED", "the reply breaks off", again=True) from error
        # A body shorter than its stated length is not noticed by read1.
        if expected is not None and unpack.taken < expected:
            raise Failed("TRUNCATED", "the reply breaks off", again=True)
        unpack.end()


class _Unpacking:
    """Bytes as they came in, plain bytes out, never more than the bound."""

    def __init__(self, max_octets: int, *, packed: bool) -> None:
        self.taken = 0
        self._given = 0
        self._max_octets = max_octets
        self._gzip = zlib.decompressobj(wbits=31) if packed else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self.taken += len(chunk)
        if self._gzip is None:
            yield self._bounded(chunk)
            return
        try:
            while chunk and not self._gzip.eof:
                yield self._bounded(self._gzip.decompress(chunk, _CHUNK_OCTETS))
                chunk = self._gzip.unconsumed_tail
        except zlib.error as error:
            raise Failed("MALFORMED", "the reply's gzip is damaged", again=True) from error

    def end(self) -> None:
        if self._gzip is not None and not self._gzip.eof:
            raise Failed("TRUNCATED", "the reply's gzip breaks off", again=True)

    def _bounded(self, data: bytes) -> bytes:
        self._given += len(data)
        if self._given > self._max_octets:
            raise Failed("BUDGET", f"the reply exceeds {self._max_octets:,} bytes", again=False)
        if self._given > max(_RATIO_FROM_OCTETS, self.taken * _MAX_RATIO):
            raise Failed("BUDGET", "the reply unpacks like a bomb", again=False)
        return data


def _is_writable(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


class _Deadline:
    """Shuts a connection down in time, also where a server sends a byte now and then."""

    def __init__(self, seconds: float) -> None:
        self._over = threading.Event()
        self._sock: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def watch(self, sock: socket.socket) -> None:
        self._sock = sock
        self._timer.start()

    def check(self) -> None:
        if self._over.is_set():
            raise Failed("TIMEOUT", "the reply takes too long", again=False)

    def cancel(self) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self._over.set()
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)


def _explain(error: Exception) -> Failed:
    if isinstance(error, TimeoutError):
        return Failed("TIMEOUT", "the server does not answer in time", again=True)
    return Failed("NETWORK", f"the connection failed: {error!r}", again=True)


def _url_of(target: _Target) -> str:
    return f"{target.scheme}://{target.authority}{target.path}"


def _join(target: _Target, location: str) -> str:
    try:
        return urljoin(_url_of(target), location)
    except ValueError as error:
        raise Failed("REDIRECT", f"{location[:200]!r} is not a URL", again=False) from error


def _read_retry_after(text: str, clock: Clock) -> float:
    """Return the seconds of Retry-After, given as a number or a date; 0 without one."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - clock.now()).total_seconds())
    except (TypeError, ValueError):
        return 0.0
