"""Requests over HTTP within bounds: size of the reply, time, addresses, and redirects.

The API of another installation is queried with JSON and a secret; refusals are errors.
"""

import http.client
import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from core.errors import BadInput, Unavailable, reason_of
from core.files import TooLarge
from core.release import VERSION

_MAX_ERROR_BYTES = 65_536
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_Socket = TypeVar("_Socket", bound=socket.socket)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of any status; names of headers are in lower case.

    The body is whole where the request succeeded, else its beginning.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class NoReply(Unavailable):
    """The server did not answer, or its answer was cut off; the text is the reason alone."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow a redirect only where ``check_url`` does not raise; none without it."""

    def __init__(self, check_url: Callable[[str], object] | None) -> None:
        self._check_url = check_url

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if self._check_url is None:
            return None
        self._check_url(urljoin(req.full_url, newurl))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True, slots=True)
class PinnedAddress:
    """The address of one connection, which was checked before; the host is not resolved again."""

    address: str
    port: int


class _Pinned:
    """Connections to one checked address, each shut down once the time is over.

    A time-out of a socket holds for one wait only: a server that sends a byte now and then would
    keep the connection indefinitely.
    """

    def __init__(self, pin: PinnedAddress, timeout_s: float) -> None:
        self._pin = pin
        self._timeout_s = timeout_s
        self._timer = threading.Timer(timeout_s, self._shut)
        self._timer.daemon = True
        self._sock: socket.socket | None = None

    def handlers(self) -> list[urllib.request.BaseHandler]:
        """Handlers of an opener with these connections; no proxy is used."""
        pinned = self

        class Plain(http.client.HTTPConnection):
            def connect(self) -> None:
                self.sock = pinned.connect()

        class Secure(http.client.HTTPSConnection):
            def connect(self) -> None:
                context = ssl.create_default_context()
                self.sock = pinned.hold(
                    context.wrap_socket(pinned.connect(), server_hostname=self.host)
                )

        class PlainHandler(urllib.request.HTTPHandler):
            def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Plain, req)

        class SecureHandler(urllib.request.HTTPSHandler):
            def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Secure, req)

        return [urllib.request.ProxyHandler({}), PlainHandler(), SecureHandler()]

    def connect(self) -> socket.socket:
        """Connect; raise ``OSError``, also where another address answered."""
        sock = socket.create_connection((self._pin.address, self._pin.port), self._timeout_s)
        peer = sock.getpeername()[0]
        if ip_address(peer) != ip_address(self._pin.address):
            sock.close()
            raise ConnectionError(f"connected to {peer} instead of {self._pin.address}")
        self._timer.start()
        return self.hold(sock)

    def hold(self, sock: _Socket) -> _Socket:
        """Remember which socket to shut down."""
        self._sock = sock
        return sock

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _shut(self) -> None:
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)


def send(
    request: urllib.request.Request,
    timeout_s: float,
    max_bytes: int,
    check_redirect: Callable[[str], object] | None = None,
    pin: PinnedAddress | None = None,
) -> Reply:
    """Send a request and return the reply as it came, packed or not.

    Without ``check_redirect`` a redirect is the reply: keys go to the server they were given for,
    and to no other. With ``pin`` the connection goes to that address without any proxy; name and
    certificate are still those of the URL. Raise ``NoReply``, ``TooLarge``, and what
    ``check_redirect`` raises.
    """
    pinned = _Pinned(pin, timeout_s) if pin else None
    handlers = pinned.handlers() if pinned else []
    opener = urllib.request.build_opener(_Redirects(check_redirect), *handlers)
    try:
        try:
            with opener.open(request, timeout=timeout_s) as reply:
                return _read(reply, max_bytes)
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.reason, _lower(error.headers), _read_start(error))
    except (OSError, http.client.HTTPException) as error:
        raise NoReply(reason_of(getattr(error, "reason", error))) from error
    finally:
        if pinned:
            pinned.end()


def _read(reply: Any, max_bytes: int) -> Reply:
    body = reply.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise TooLarge(f"the reply is too large: more than {max_bytes // 2**20} MiB")
    headers = _lower(reply.headers)
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > len(body):
        raise NoReply(f"{len(body):,} of {int(length):,} bytes came")
    return Reply(reply.status, reply.reason, headers, body)


def _read_start(error: urllib.error.HTTPError) -> bytes:
    """The first bytes of the server's error document; none where they do not come."""
    try:
        return error.read(_MAX_ERROR_BYTES)
    except (OSError, http.client.HTTPException):
        return b""


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


class LimitReached(Unavailable):
    """The site takes no more for now; ``wait_s`` is when to ask again."""

    def __init__(self, message: str, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def check_site(site: str, field: str, *, plain: bool = False, plain_option: str = "") -> str:
    """The address without a last slash; raises ``BadInput`` where a secret would travel openly.

    ``plain_option`` is the option that allows it.
    """
    parts = urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"{site!r} is not an address like https://example.org", field=field)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plain:
        hint = plain_option and f", or {plain_option} in a lab"
        raise BadInput(f"a secret would travel over http unencrypted; use https{hint}", field=field)
    return site.rstrip("/")


def request_site(
    address: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout_s: float,
    max_bytes: int,
) -> Reply:
    """POST a JSON body, or GET without one; the reply is a success or 304.

    Redirects are not followed. Raises ``BadInput`` where the site refuses, ``LimitReached`` and
    ``Unavailable``.
    """
    sent = {"User-Agent": f"nephoscope/{VERSION}", **(headers or {})}
    data = None
    if body is not None:
        data, sent = json.dumps(body).encode(), {**sent, "Content-Type": "application/json"}
    try:
        reply = send(urllib.request.Request(address, data, sent), timeout_s, max_bytes)
    except (NoReply, TooLarge, ValueError) as error:
        raise Unavailable(f"{address} does not answer: {error}") from error
    if not (200 <= reply.status < 300 or reply.status == 304):
        raise _refusal(reply)
    return reply


def read_json(reply: Reply, address: str) -> dict[str, Any]:
    """The JSON object of a reply; raises ``Unavailable`` for anything else."""
    try:
        return dict(json.loads(reply.body))
    except (ValueError, TypeError) as error:
        raise Unavailable(f"{address} does not answer: {error}") from error


def _refusal(reply: Reply) -> BadInput | Unavailable:
    try:
        detail = str(json.loads(reply.body)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"HTTP {reply.status}"
    # Too many requests, and faults of the server, imply nothing about what was sent.
    if reply.status == 429:
        after = reply.headers.get("retry-after", "")
        return LimitReached(detail, float(after) if after.isdigit() else 30.0)
    return BadInput(detail) if 400 <= reply.status < 500 else Unavailable(detail)
