"""The door for agents' reports, in front of Django: bytes of strangers in, receipts out.

Nothing is read of a body before its token is known, no more than a report may have, and not for
longer than an honest agent needs. Everything else goes on to the site.
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
from webapp.api.framework.rate_limits import stamp_policy
from webapp.api.framework.request_bodies import Body, Receive, Send, Site, begin, refuse
from webapp.api.screening.ingest_batches import Told, Writer
from webapp.store.screening.ingest import (
    MOST_BYTES,
    Arrival,
    Clash,
    Grant,
    NoGrant,
    PoolFull,
    Receipt,
    find_grant,
    read_arrival,
)

ADDRESS = re.compile(r"/api/v1/screening/(?:pools/(?P<key>[0-9a-f]{1,24})/)?reports/?")
BEARER = re.compile(r"Bearer +([\x21-\x7e]{1,200})", re.IGNORECASE)
# An honest agent's report of 20 KB takes a second on the slowest line; the largest has 8 MB.
BODY_S = 30.0
# Bodies of all agents together that are in memory at once.
MOST_HELD = 128_000_000
SMALL_BYTES = 200_000
# With more than so much undone, senders are told to come back, which costs little: in the rush
# after an outage those that are taken wait hardly longer than ever, and the others come later.
MOST_LAG_S, MOST_WAITING = 0.25, 64
# How long they stay away: longer while more than one comes again for two that are taken.
SHORTEST_WAIT_S, LONGEST_WAIT_S = 3.0, 40.0
COMERS_PER_TAKEN = 0.5
# A token that was good a moment ago is not looked up again; the batch looks anyway.
TRUSTED_S = 2.0
MOST_TRUSTED = 10_000


class Refusal(Exception):
    """An answer that ends the request."""

    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.answer = stamp_policy(problem(status, kind, detail, **more))
        if status == 401:
            self.answer["WWW-Authenticate"] = 'Bearer realm="Nephoscope pool"'


class Pulse:
    """How far the event loop is behind its work, and when those it refuses should come again.

    One hiccup alone does not count.
    """

    EVERY_S = 0.1
    KEPT = 0.9

    def __init__(self) -> None:
        self.lag_s = self._last_s = 0.0
        self._refused = self._taken = 0.0
        self._wait_s = SHORTEST_WAIT_S
        self._loop = asyncio.get_running_loop()
        self._expect()

    def refuse(self) -> int:
        """Seconds after which a sender who is refused comes again."""
        self._refused += 1
        return max(1, round(self._wait_s * random.uniform(0.5, 1.5)))

    def take(self) -> None:
        """A sender was served."""
        self._taken += 1

    def _expect(self) -> None:
        self._due = self._loop.time() + self.EVERY_S
        self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        late_s = self._loop.time() - self._due
        self.lag_s, self._last_s = min(late_s, self._last_s), late_s
        is_crowded = self._refused > self._taken * COMERS_PER_TAKEN
        wait_s = self._wait_s * (1.05 if is_crowded else 0.97)
        self._wait_s = min(max(wait_s, SHORTEST_WAIT_S), LONGEST_WAIT_S)
        self._refused, self._taken = self._refused * self.KEPT, self._taken * self.KEPT
        self._expect()


def front(site: Site) -> Site:
    """The site with the door for reports in front of it."""
    doors: dict[asyncio.AbstractEventLoop, Door] = {}

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        found = ADDRESS.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] != "POST":
            await site(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        if loop not in doors:
            doors[loop] = Door()
        await doors[loop].take(scope, Body(receive), send, found["key"] or "")

    return application


class Door:
    """Takes reports for one event loop."""

    def __init__(self) -> None:
        self._writer = Writer()
        self._lookers = ThreadPoolExecutor(2, "pool-tokens")
        self._reader = ThreadPoolExecutor(1, "pool-reader")
        self._pulse = Pulse()
        self._held = 0
        self._trusted: dict[str, tuple[float, Grant]] = {}
        self._asked: dict[str, asyncio.Future[Grant]] = {}

    async def take(self, scope: Any, body: Body, send: Send, key: str) -> None:
        """Answer one request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        try:
            self._demand_room()
            grant = await self._find_grant(headers, key)
            _check_headers(headers)
            receipt = await self._take_body(grant, headers, body)
        except Refusal as refusal:
            await refuse(refusal.answer, body, send)
        except ConnectionError:
            return
        else:
            await _confirm(receipt, send)

    def _demand_room(self) -> None:
        if self._pulse.lag_s > MOST_LAG_S or self._writer.waiting >= MOST_WAITING:
            raise _busy(self._pulse.refuse())

    async def _find_grant(self, headers: dict[str, str], key: str) -> Grant:
        found = BEARER.fullmatch(headers.get("authorization", "").strip())
        if found is None:
            raise Refusal(401, "no-token", "send the pool's token: Authorization: Bearer TOKEN")
        grant = await self._look_up(found[1])
        if key and grant.key != key:
            raise Refusal(403, "foreign-pool", "this token is not one of this pool")
        return grant

    async def _look_up(self, secret: str) -> Grant:
        now = time.monotonic()
        until, grant = self._trusted.get(secret, (0.0, None))
        if grant is not None and now < until:
            return grant
        try:
            grant = await asyncio.shield(self._ask(secret))
        except NoGrant as error:
            self._trusted.pop(secret, None)
            raise Refusal(401, "unknown-token", str(error)) from None
        if len(self._trusted) >= MOST_TRUSTED:
            self._trusted.clear()
        self._trusted[secret] = (now + TRUSTED_S, grant)
        return grant

    def _ask(self, secret: str) -> asyncio.Future[Grant]:
        """One question to the store for everybody who comes with the same token."""
        asked = self._asked.get(secret)
        if asked is None:
            loop = asyncio.get_running_loop()
            asked = loop.run_in_executor(self._lookers, _find_grant, secret)
            self._asked[secret] = asked
            asked.add_done_callback(lambda _: self._asked.pop(secret, None))
        return asked

    async def _take_body(self, grant: Grant, headers: dict[str, str], body: Body) -> Receipt:
        told: Told
        try:
            await self._read(body)
            self._demand_room()
            arrival = await self._check(grant, headers.get("idempotency-key", ""), body)
            told = await self._writer.store(arrival)
        except BadInput as error:
            told = error
        finally:
            self._held -= body.size
        self._pulse.take()
        if isinstance(told, NephoscopeError):
            raise _refusal(told)
        return told

    async def _check(self, grant: Grant, given: str, body: Body) -> Arrival:
        if body.size <= SMALL_BYTES:
            # A millisecond of work costs less here than its way to another thread and back.
            return read_arrival(grant, body.join(), given)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, read_arrival, grant, body.join(), given)

    async def _read(self, body: Body) -> None:
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
    return Refusal(503, "busy", "too many reports at once: send it again", retry_after=retry_after)


def _too_large() -> Refusal:
    return Refusal(413, "too-large", f"a report has at most {MOST_BYTES:,} bytes")


def _refusal(error: NephoscopeError) -> Refusal:
    if isinstance(error, NoGrant):
        return Refusal(401, "unknown-token", str(error))
    if isinstance(error, Clash):
        return Refusal(409, "report-id-reused", str(error), field=error.field)
    if isinstance(error, BadInput):
        return Refusal(422, "bad-report", str(error), field=error.field)
    if isinstance(error, PoolFull):
        return Refusal(403, "pool-full", str(error))
    return Refusal(503, "unavailable", str(error), retry_after=5)


async def _confirm(receipt: Receipt, send: Send) -> None:
    document = {name: getattr(receipt, name) for name in receipt.__slots__}
    content = json.dumps(document).encode()
    await begin(200 if receipt.repeated else 201, content, "application/json", send, [])
    await send({"type": "http.response.body", "body": content, "more_body": False})
