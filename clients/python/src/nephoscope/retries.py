"""Repetition of requests that the server refused for a while, by ``Retry-After``."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

REFUSED_FOR_A_WHILE = (429, 503)
# Requests that change nothing more when they are repeated (RFC 9110, 9.2.2).
IDEMPOTENT = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 60.0


class RetryingTransport(httpx.BaseTransport):
    """A transport that sends a request up to ``attempts`` times.

    A refusal with 429 or 503 is repeated after ``Retry-After``, or after 0.5 s that double each
    time; a connection that cannot be made likewise. Other requests than idempotent ones are
    repeated if they have an ``Idempotency-Key``, or were refused with 429. A wait that would be
    longer than a minute is left to the caller, who gets the refusal.
    """

    def __init__(
        self,
        transport: httpx.BaseTransport,
        attempts: int = 5,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport, self._attempts, self._sleep = transport, attempts, sleep

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the last response; raise its error if there is none."""
        for attempt in range(self._attempts - 1):
            usual_s = FIRST_WAIT_S * 2**attempt
            try:
                response = self._transport.handle_request(request)
            except httpx.ConnectError:
                wait_s: float | None = usual_s
                response = None
            else:
                wait_s = self._wait_s(request, response, usual_s)
            if response is not None and wait_s is None:
                return response
            if response is not None:
                response.close()
            self._sleep(wait_s or 0.0)
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def _wait_s(
        self, request: httpx.Request, response: httpx.Response, usual_s: float
    ) -> float | None:
        """Seconds until a repetition, or ``None`` for no repetition."""
        if response.status_code not in REFUSED_FOR_A_WHILE:
            return None
        is_safe = request.method in IDEMPOTENT or "Idempotency-Key" in request.headers
        if not is_safe and response.status_code != 429:
            return None
        given_s = parse_retry_after(response.headers.get("Retry-After", ""))
        wait_s = usual_s if given_s is None else given_s
        return wait_s if wait_s <= LONGEST_WAIT_S else None


def parse_retry_after(text: str) -> float | None:
    """Return the seconds of a header that holds a number or a date; ``None`` without one."""
    if text.strip().isdecimal():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
