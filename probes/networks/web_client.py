"""HTTP client of a JSON API that respects rate limits and waiting times.

API keys are sent in a header only; no error message contains one.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any
from urllib.request import Request

from core.clock import Clock, SystemClock
from core.errors import NephoscopeError, Unavailable
from core.files import DamagedStream, TooLarge, inflate
from core.http import NoReply, Reply, send
from core.release import VERSION

TIMEOUT_S = 20.0
MAX_BYTES = 16 * 1024 * 1024
TRIES = 4
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
AGENT = f"nephoscope/{VERSION} (cloud measurement)"
_LONGEST_MESSAGE = 200
_TOO_LARGE = f"an answer of more than {MAX_BYTES >> 20} MiB"
BUSY, UNAVAILABLE, NOT_MODIFIED = 429, 503, 304


class Refused(NephoscopeError):
    """The network refuses the request; the message is the network's reason."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(f"{message} (status {status})")


class Busy(Unavailable):
    """The network asks to wait; ``wait_s`` gives the time."""

    def __init__(self, message: str, wait_s: float) -> None:
        self.wait_s = wait_s
        super().__init__(message)


class MalformedAnswer(Unavailable):
    """An answer that cannot be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A document with the fields of its header; ``document`` is ``None`` when it is as it was
    before.
    """

    document: Any
    headers: Mapping[str, str]

    @property
    def etag(self) -> str:
        return self.headers.get("etag", "")


@dataclass
class Api:
    """One network's API."""

    base: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    clock: Clock = field(default_factory=SystemClock)
    chance: random.Random = field(default_factory=random.Random, repr=False)
    # A caller with other work gets ``Busy`` instead of waiting longer.
    longest_wait_s: float = LONGEST_PAUSE_S

    def get(self, path: str, etag: str = "") -> Answer:
        """A document; raises ``Refused``, ``Busy``, ``MalformedAnswer`` or ``Unavailable``."""
        return self._try("GET", path, None, {"If-None-Match": etag} if etag else {})

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """What creating something gives; raises as ``get``.

        Only what the network reports as not done is tried again: nothing is paid for twice.
        """
        return self._try("POST", path, json.dumps(body).encode(), {})

    def delete(self, path: str) -> None:
        """End something; raises as ``get``."""
        self._try("DELETE", path, None, {})

    def _try(self, method: str, path: str, body: bytes | None, more: dict[str, str]) -> Answer:
        for attempt in range(1, TRIES + 1):
            try:
                return self._ask(method, path, body, more)
            except (Busy, Unavailable) as error:
                wait_s = self._pause_s(error, attempt)
                again = isinstance(error, Busy) or method == "GET"
                if not again or attempt == TRIES or wait_s > self.longest_wait_s:
                    raise
                self.clock.sleep(wait_s)
        raise AssertionError("the last try gives or raises")

    def _pause_s(self, error: Unavailable, attempt: int) -> float:
        if isinstance(error, Busy):
            return error.wait_s
        return min(FIRST_PAUSE_S * 2.0 ** (attempt - 1), LONGEST_PAUSE_S) * (
            0.75 + self.chance.random() / 2
        )

    def _ask(self, method: str, path: str, body: bytes | None, more: dict[str, str]) -> Answer:
        known = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": AGENT}
        if body is not None:
            known["Content-Type"] = "application/json"
        address = self.base.rstrip("/") + path
        request = Request(address, body, {**known, **self.headers, **more})
        request.method = method
        try:
            reply = send(request, TIMEOUT_S, MAX_BYTES)
        except NoReply as error:
            raise Unavailable(f"no answer from {self.base}: {str(error)[:80]}") from None
        except TooLarge:
            raise MalformedAnswer(_TOO_LARGE) from None
        if 200 <= reply.status < 300:
            return Answer(_document(reply), reply.headers)
        return self._handle_error_status(reply)

    def _handle_error_status(self, reply: Reply) -> Answer:
        """Return or raise what a status other than success means."""
        if reply.status == NOT_MODIFIED:
            return Answer(None, reply.headers)
        message = self._redact_keys(_message(reply))
        if reply.status == BUSY:
            raise Busy(message or "too many requests", self._retry_after_s(reply.headers))
        if reply.status == UNAVAILABLE and "retry-after" in reply.headers:
            raise Busy(message or "not available now", self._retry_after_s(reply.headers))
        if reply.status >= 500:
            raise Unavailable(f"{message or 'the network failed'} (status {reply.status})")
        raise Refused(reply.status, message or "the network refused")

    def _retry_after_s(self, headers: Mapping[str, str]) -> float:
        """Return the seconds to wait by the response headers, or a short default."""
        for name in ("retry-after", "x-ratelimit-reset"):
            try:
                return max(0.0, float(headers[name]))
            except (KeyError, ValueError):
                if moment := _moment(headers.get(name, "")):
                    return max(0.0, moment - self.clock.now().timestamp())
        return FIRST_PAUSE_S * 4

    def _redact_keys(self, text: str) -> str:
        """Remove API keys from a text."""
        for value in self.headers.values():
            for part in (value, value.rpartition(" ")[2]):
                text = text.replace(part, "…") if len(part) > 3 else text
        return text


def is_address(host: str) -> bool:
    """Whether a host is an address, and no name."""
    return address_family(host) != 0


def address_family(host: str) -> int:
    """4 or 6 of an address, 0 of a name."""
    try:
        return ip_address(host.strip("[]").partition("%")[0]).version
    except ValueError:
        return 0


def _document(reply: Reply) -> Any:
    """A body as JSON, unpacked where it was packed for the way; raises ``MalformedAnswer``."""
    is_packed = reply.headers.get("content-encoding", "").lower() == "gzip"
    try:
        body = iter([reply.body])
        data = b"".join(inflate(body, MAX_BYTES)) if is_packed else reply.body
        return json.loads(data) if data else {}
    except DamagedStream:
        raise MalformedAnswer("an answer whose packing cannot be undone") from None
    except TooLarge:
        raise MalformedAnswer(_TOO_LARGE) from None
    except (ValueError, RecursionError):
        raise MalformedAnswer("an answer that is not JSON") from None


def _message(reply: Reply) -> str:
    """Return the error message of a body, in either network's format."""
    try:
        document = _document(reply)
    except MalformedAnswer:
        return ""
    found = document.get("error", document) if isinstance(document, dict) else {}
    if not isinstance(found, dict):
        return str(found)[:_LONGEST_MESSAGE]
    details = [found.get("message") or found.get("detail") or found.get("title") or ""]
    details += [str(v) for v in (found.get("params") or {}).values()]
    details += [str(e.get("detail", e)) for e in found.get("errors") or () if isinstance(e, dict)]
    return "; ".join(str(d) for d in details if d)[:_LONGEST_MESSAGE]


def _moment(text: str) -> float:
    """A moment in the form of HTTP's heads; 0 for anything else."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError):
        return 0.0
