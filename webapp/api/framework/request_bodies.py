"""ASGI middleware that limits request bodies per address and over all connections.

It runs before Django, which would write a whole body to disk before routing. A refused body is not
read to its end; the application is notified when its client disconnects.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from webapp.api.framework.problems import problem
from webapp.api.framework.rate_limits import add_policy_header
from webapp.store.requests.body_progress import SCOPE_KEY, BodyProgress, get_body_progress

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Receive, Send], Awaitable[None]]

MIB = 2**20
MOST_BYTES = 40 * MIB
# Logs of other tools, one at a time.
MOST_LOG_BYTES = 10_000_000
# Seven tables of a recommendation; a page holds them in memory, the command reads larger ones.
MOST_TABLES_BYTES, MOST_TABLES_ANONYMOUS = 256 * MIB, 64 * MIB
# Files of traffic logs, and the rest of a form.
MOST_CAPTURE_BYTES = 65 * MIB
# Octets of a list for each domain that a survey takes: a line of most lists, and as JSON.
LIST_BYTES_EACH, LIST_BYTES_EACH_ANONYMOUS = 80, 40
# Bytes of bodies in flight: per client address, and over all connections.
MOST_EACH, MOST_TOGETHER = 288 * MIB, 768 * MIB
# After a refusal the rest of a body is read for a moment, so that the answer is not lost in the
# reset of the connection: up to so many bytes of one request in all.
DRAIN_S, MOST_READ = 2.0, 60_000_000

# A report of a beacon: rows of up to 40 regions.
MAX_BEACON_BYTES = 6_000

_SCREENING = re.compile(r"/api/v1/screening/")
_LISTS = re.compile(
    r"/(api/v1/(plan|surveys|audits(/plan)?|schedules|domain-lists(/[^/]+)?)"
    r"|surveys/new|recommendations/domains|audits/(new|lists(/[^/]+)?))/?$"
)
_TABLES = re.compile(r"/recommendations/samples/?$")
_CAPTURES = re.compile(r"/(api/v1/captures|traffic/new)/?$")
_BEACON = re.compile(r"/beacon/")


def max_body_bytes(path: str, *, is_anonymous: bool) -> int:
    """Return the body limit of an address in bytes."""
    if _SCREENING.match(path):
        return MOST_LOG_BYTES
    if _BEACON.match(path):
        return MAX_BEACON_BYTES
    if _LISTS.match(path):
        each = LIST_BYTES_EACH_ANONYMOUS if is_anonymous else LIST_BYTES_EACH
        return min(MOST_BYTES, MIB + each * int(settings.MAX_SURVEY_DOMAINS))
    if _CAPTURES.match(path):
        return MIB if is_anonymous else MOST_CAPTURE_BYTES
    if _TABLES.match(path):
        return MOST_TABLES_ANONYMOUS if is_anonymous else MOST_TABLES_BYTES
    return MOST_BYTES


class BodyReader:
    """Incremental reader of one request body."""

    def __init__(self, receive: Receive, size: int = 0) -> None:
        self._receive = receive
        self._parts: list[bytes] = []
        self.size = size
        self.is_whole = False

    async def read(self) -> int:
        """Read the next chunk and return its size; raise ConnectionError on disconnect."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        piece = message.get("body", b"")
        self.is_whole = not message.get("more_body", False)
        self._parts.append(piece)
        self.size += len(piece)
        return len(piece)

    def join(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)

    async def drain(self) -> None:
        """Read and discard the rest for a limited time."""
        self._parts.clear()
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(DRAIN_S):
                while not self.is_whole and self.size < MOST_READ:
                    await self.read()
                    self._parts.clear()


async def refuse(answer: HttpResponse, body: BodyReader, send: Send) -> None:
    """Send a response, then drain the body for a moment before closing."""
    more = []
    if not body.is_whole:
        more.append((b"connection", b"close"))
    for name in ("WWW-Authenticate", "Retry-After", "RateLimit-Policy"):
        if name in answer:
            more.append((name.lower().encode(), str(answer[name]).encode()))
    content = answer.content
    await start_response(answer.status_code, content, str(answer["Content-Type"]), send, more)
    await send({"type": "http.response.body", "body": content, "more_body": True})
    await body.drain()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def start_response(
    status: int, content: bytes, kind: str, send: Send, more: list[tuple[bytes, bytes]]
) -> None:
    """Send status and headers of a small response."""
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})


class _MemoryQuota:
    """Bytes of bodies in flight in this process, which has one event loop."""

    def __init__(self) -> None:
        self._held = 0
        self._by_address: Counter[str] = Counter()

    @contextlib.contextmanager
    def share(self, address: str) -> Iterator[Callable[[int], bool]]:
        """Yield a function that counts chunks and returns false once a limit is exceeded."""
        own = 0

        def add(size: int) -> bool:
            nonlocal own
            own += size
            self._held += size
            self._by_address[address] += size
            return self._held <= MOST_TOGETHER and self._by_address[address] <= MOST_EACH

        try:
            yield add
        finally:
            self._held -= own
            self._by_address[address] -= own
            if not self._by_address[address]:
                del self._by_address[address]


_quota = _MemoryQuota()


def limit_bodies(site: AsgiApp) -> AsgiApp:
    """Return the application behind the body limits."""

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _forward(site, scope, receive, send)
        else:
            await site(scope, receive, send)

    return application


async def _forward(site: AsgiApp, scope: Any, receive: Receive, send: Send) -> None:
    path, headers = scope["path"], dict(scope["headers"])
    most = max_body_bytes(path, is_anonymous=_is_anonymous(headers))
    given = headers.get(b"content-length")
    if given is None:
        most = min(most, MOST_BYTES)
    elif not given.isdigit() or int(given) > most:
        await refuse(too_large(path, most), BodyReader(receive), send)
        return
    with _quota.share((scope.get("client") or ("",))[0]) as add:
        await _BoundedRequest(scope, receive, send, most, add).run(site)


class _BoundedRequest:
    """Forward one request while its body stays within the limits."""

    def __init__(
        self, scope: Any, receive: Receive, send: Send, most: int, add: Callable[[int], bool]
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._most, self._add = most, add
        self._refusal: HttpResponse | None = None
        self._is_answered = False
        self._progress = BodyProgress()

    async def run(self, site: AsgiApp) -> None:
        await site({**self._scope, SCOPE_KEY: self._progress}, self._read, self._answer)
        if self._refusal is not None and not self._is_answered:
            await refuse(self._refusal, BodyReader(self._receive, self._progress.size), self._send)

    async def _read(self) -> Message:
        message = await self._receive()
        size = len(message.get("body", b""))
        self._progress.size += size
        if message["type"] == "http.disconnect":
            self._progress.gone.set()
        elif not self._add(size):
            self._refusal = _busy(self._scope["path"])
        elif self._progress.size > self._most:
            self._refusal = too_large(self._scope["path"], self._most)
        # Django drops a request after a disconnect, with what it has kept of the body.
        return {"type": "http.disconnect"} if self._refusal is not None else message

    async def _answer(self, message: Message) -> None:
        if self._refusal is None or self._is_answered:
            self._is_answered = True
            await self._send(message)


def _is_anonymous(headers: dict[bytes, bytes]) -> bool:
    """Whether the request has no credentials; credentials are verified later."""
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        cookies = SimpleCookie()
    return b"authorization" not in headers and settings.SESSION_COOKIE_NAME not in cookies


class AnonymousBodyLimitMiddleware(MiddlewareMixin):
    """Apply the anonymous limits to requests with invalid credentials."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Refuse a body over the anonymous limit."""
        if request.user.is_authenticated:
            return None
        most = max_body_bytes(request.path_info, is_anonymous=True)
        return (
            too_large(request.path_info, most) if get_body_progress(request).size > most else None
        )


def too_large(path: str, most: int) -> HttpResponse:
    """Return the response to a body over the limit."""
    detail = f"a request to this address has at most {most:,} bytes"
    return _answer(path, 413, "too-large", detail)


def _busy(path: str) -> HttpResponse:
    return _answer(path, 503, "busy", "too many uploads at the same time: try again", 5)


def _answer(path: str, status: int, kind: str, detail: str, wait_s: int | None = None) -> Any:
    if path.startswith("/api/"):
        return add_policy_header(problem(status, kind, detail, retry_after=wait_s))
    title = "Too many uploads at the same time" if status == 413 else "This site is busy"
    advice = f"Nothing was changed: {detail}."
    answer = HttpResponse(
        render_to_string("error_bare.html", {"title": title, "advice": advice}), status=status
    )
    if wait_s is not None:
        answer["Retry-After"] = str(wait_s)
    return answer
