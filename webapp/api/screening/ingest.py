"""ASGI endpoint for agents' reports in front of Django.

A body is read only after its token is verified, up to the size limit and within a deadline. Other
requests are passed on to the site.
"""

import asyncio
import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import close_old_connections

from core.errors import BadInput, NephoscopeError
from webapp.api.framework.problems import problem
from webapp.api.framework.rate_limits import add_policy_header
from webapp.api.framework.request_bodies import (
    AsgiApp,
    BodyReader,
    Receive,
    Send,
    refuse,
    start_response,
)
from webapp.api.screening.ingest_batches import BatchWriter, Outcome
from webapp.store.screening.ingest import (
    MOST_BYTES,
    Arrival,
    Grant,
    InvalidToken,
    PoolFull,
    Receipt,
    ReportIdReused,
    find_grant,
    read_arrival,
)

ADDRESS = re.compile(r"/api/v1/screening/(?:pools/(?P<key>[0-9a-f]{1,24})/)?reports/?")
BEARER = re.compile(r"Bearer +([\x21-\x7e]{1,200})", re.IGNORECASE)
# Deadline of a body: a report of 20 KB takes a second on a slow line; the largest has 8 MB.
BODY_S = 30.0
# Bytes of bodies that are in memory at once.
MOST_HELD = 128_000_000
SMALL_BYTES = 200_000
# Load shedding: beyond this event-loop lag or queue length requests are refused with Retry-After,
# so that accepted requests keep a low latency in the rush after an outage.
MAX_LAG_S, MAX_WAITING = 0.25, 64
# Bounds of Retry-After: it grows while more than one request is refused for two that are served.
SHORTEST_WAIT_S, LONGEST_WAIT_S = 3.0, 40.0
RETRIES_PER_SERVED = 0.5
# Valid tokens are cached this long; the batch verifies them again.
TRUSTED_S = 2.0
MOST_TRUSTED = 10_000


class Refusal(Exception):
    """A response that ends the request."""

    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.answer = add_policy_header(problem(status, kind, detail, **more))
        if status == 401:
            self.answer["WWW-Authenticate"] = 'Bearer realm="Nephoscope pool"'


class LoadMonitor:
    """Measure event-loop lag and adapt Retry-After.

    The lag is the smaller of the last two measurements, so that a single delay does not count.
    """

    EVERY_S = 0.1
    KEPT = 0.9

    def __init__(self) -> None:
        self.lag_s = self._last_s = 0.0
        self._refused = self._served = 0.0
        self._wait_s = SHORTEST_WAIT_S
        self._loop = asyncio.get_running_loop()
        self._schedule()

    def retry_after_s(self) -> int:
        """Count a refused request and return its Retry-After in seconds."""
        self._refused += 1
        return max(1, round(self._wait_s * random.uniform(0.5, 1.5)))

    def record_served(self) -> None:
        """Count a served request."""
        self._served += 1

    def _schedule(self) -> None:
        self._due = self._loop.time() + self.EVERY_S
        self._loop.call_at(self._due, self._measure)

    def _measure(self) -> None:
        late_s = self._loop.time() - self._due
        self.lag_s, self._last_s = min(late_s, self._last_s), late_s
        is_crowded = self._refused > self._served * RETRIES_PER_SERVED
        wait_s = self._wait_s * (1.05 if is_crowded else 0.97)
        self._wait_s = min(max(wait_s, SHORTEST_WAIT_S), LONGEST_WAIT_S)
        self._refused, self._served = self._refused * self.KEPT, self._served * self.KEPT
        self._schedule()


def ingest_middleware(site: AsgiApp) -> AsgiApp:
    """Return the site with the report endpoint in front of it."""
    endpoints: dict[asyncio.AbstractEventLoop, IngestEndpoint] = {}

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        found = ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "POST":
            await site(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        if loop not in endpoints:
            endpoints[loop] = IngestEndpoint()
        await endpoints[loop].handle(scope, BodyReader(receive), send, found["key"] or "")

    return application


class IngestEndpoint:
    """Handler of reports for one event loop."""

    def __init__(self) -> None:
        self._writer = BatchWriter()
        self._token_threads = ThreadPoolExecutor(2, "pool-tokens")
        self._parser_thread = ThreadPoolExecutor(1, "pool-reader")
        self._load = LoadMonitor()
        self._held = 0
        self._trusted: dict[str, tuple[float, Grant]] = {}
        self._asked: dict[str, asyncio.Future[Grant]] = {}

    async def handle(self, scope: Any, body: BodyReader, send: Send, key: str) -> None:
        """Handle one request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        try:
            self._check_load()
            grant = await self._find_grant(headers, key)
            _check_headers(headers)
            receipt = await self._receive(grant, headers, body)
        except Refusal as refusal:
            await refuse(refusal.answer, body, send)
        except ConnectionError:
            return
        else:
            await _confirm(receipt, send)

    def _check_load(self) -> None:
        if self._load.lag_s > MAX_LAG_S or self._writer.waiting >= MAX_WAITING:
            raise _busy(self._load.retry_after_s())

    async def _find_grant(self, headers: dict[str, str], key: str) -> Grant:
        found = BEARER.fullmatch(headers.get("authorization", "").strip())
        if found is None:
            raise Refusal(401, "no-token", "send the pool's token: Authorization: Bearer TOKEN")
        grant = await self._authenticate(found[1])
        if key and grant.key != key:
            raise Refusal(403, "foreign-pool", "this token is not one of this pool")
        return grant

    async def _authenticate(self, secret: str) -> Grant:
        now = time.monotonic()
        until, grant = self._trusted.get(secret, (0.0, None))
        if grant is not None and now < until:
            return grant
        try:
            grant = await asyncio.shield(self._ask(secret))
        except InvalidToken as error:
            self._trusted.pop(secret, None)
            raise Refusal(401, "unknown-token", str(error)) from None
        if len(self._trusted) >= MOST_TRUSTED:
            self._trusted.clear()
        self._trusted[secret] = (now + TRUSTED_S, grant)
        return grant

    def _ask(self, secret: str) -> asyncio.Future[Grant]:
        """Query the store once for concurrent requests with the same token."""
        asked = self._asked.get(secret)
        if asked is None:
            loop = asyncio.get_running_loop()
            asked = loop.run_in_executor(self._token_threads, _find_grant, secret)
            self._asked[secret] = asked
            asked.add_done_callback(lambda _: self._asked.pop(secret, None))
        return asked

    async def _receive(self, grant: Grant, headers: dict[str, str], body: BodyReader) -> Receipt:
        outcome: Outcome
        try:
            await self._read(body)
            self._check_load()
            arrival = await self._check(grant, headers.get("idempotency-key", ""), body)
            outcome = await self._writer.store(arrival)
        except BadInput as error:
            outcome = error
        finally:
            self._held -= body.size
        self._load.record_served()
        if isinstance(outcome, NephoscopeError):
            raise _refusal(outcome)
        return outcome

    async def _check(self, grant: Grant, given: str, body: BodyReader) -> Arrival:
        if body.size <= SMALL_BYTES:
            # A millisecond of work costs less here than its way to another thread and back.
            return read_arrival(grant, body.join(), given)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._parser_thread, read_arrival, grant, body.join(), given
        )

    async def _read(self, body: BodyReader) -> None:
        try:
            async with asyncio.timeout(BODY_S):
                while not body.is_whole:
                    self._held += await body.read()
                    if body.size > MOST_BYTES:
                        raise _too_large()
                    if self._held > MOST_HELD:
                        raise _busy(2)
        except TimeoutError:
            raise Refusal(408, "too-slow", f"the body took over {BODY_S:.0f} s") from None


def _find_grant(secret: str) -> Grant:
    close_old_connections()
    return find_grant(secret)


def _check_headers(headers: dict[str, str]) -> None:
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MOST_BYTES:
        raise _too_large()
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "encoding", "send the report as it is, without Content-Encoding")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "content-type", "a report is sent as application/json")


def _busy(retry_after: int) -> Refusal:
    return Refusal(
        503, "busy", "too many reports at the same time: send it again", retry_after=retry_after
    )


def _too_large() -> Refusal:
    return Refusal(413, "too-large", f"a report has at most {MOST_BYTES:,} bytes")


def _refusal(error: NephoscopeError) -> Refusal:
    if isinstance(error, InvalidToken):
        return Refusal(401, "unknown-token", str(error))
    if isinstance(error, ReportIdReused):
        return Refusal(409, "report-id-reused", str(error), field=error.field)
    if isinstance(error, BadInput):
        return Refusal(422, "bad-report", str(error), field=error.field)
    if isinstance(error, PoolFull):
        return Refusal(403, "pool-full", str(error))
    return Refusal(503, "unavailable", str(error), retry_after=5)


async def _confirm(receipt: Receipt, send: Send) -> None:
    document = {name: getattr(receipt, name) for name in receipt.__slots__}
    content = json.dumps(document).encode()
    await start_response(200 if receipt.repeated else 201, content, "application/json", send, [])
    await send({"type": "http.response.body", "body": content, "more_body": False})
