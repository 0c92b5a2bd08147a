"""Requests over HTTP within bounds: size of the reply, time, and where redirects may lead."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urljoin

from core.errors import Unavailable, reason_of
from core.files import TooLarge

_MAX_ERROR_BYTES = 65_536


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
