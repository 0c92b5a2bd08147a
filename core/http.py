"""Requests over HTTP within bounds: size of the reply, time, and where redirects may lead.

The API of another installation is asked with JSON and a secret; refusals are errors.
"""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit

from core.errors import BadInput, Unavailable, reason_of
from core.files import TooLarge
from core.release import VERSION

_MAX_ERROR_BYTES = 65_536
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


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


def send(
    request: urllib.request.Request,
    timeout_s: float,
    max_bytes: int,
    check_redirect: Callable[[str], object] | None = None,
) -> Reply:
    """Send a request and return the reply as it came, packed or not.

    Without ``check_redirect`` a redirect is the reply: keys go to the server they were given for,
    and to no other. Raise ``NoReply``, ``TooLarge``, and what ``check_redirect`` raises.
    """
    opener = urllib.request.build_opener(_Redirects(check_redirect))
    try:
        try:
            with opener.open(request, timeout=timeout_s) as reply:
                return _read(reply, max_bytes)
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.reason, _lower(error.headers), _read_start(error))
    except (OSError, http.client.HTTPException) as error:
        raise NoReply(reason_of(getattr(error, "reason", error))) from error


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
    """The first bytes of what the server says about an error; none where they do not come."""
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
        raise BadInput(f"{site!r} is no address like https://example.org", field=field)
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
    # Too many requests, and faults of the server, say nothing about what was sent.
    if reply.status == 429:
        after = reply.headers.get("retry-after", "")
        return LimitReached(detail, float(after) if after.isdigit() else 30.0)
    return BadInput(detail) if 400 <= reply.status < 500 else Unavailable(detail)
