"""Fetch published files over HTTP with conditional requests and a size limit."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlsplit
from urllib.request import Request

from cartography.ranges.gzip_file import MAX_FILE_BYTES
from core.errors import BadInput, NephoscopeError, Unavailable
from core.files import TooLarge
from core.http import NoReply, Reply, send

_TIMEOUT_S = 30.0
_AGENT = "nephoscope range tables (one conditional request a day)"
_TEMPORARY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Mark:
    """Validators of the server for a file (ETag, Last-Modified): sent back, they request the file
    only if it has changed.
    """

    url: str
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file as it came (plain or gzip), and the mark for the next time."""

    data: bytes
    mark: Mark


def check_url(url: str) -> str:
    """The address itself; raises ``BadInput`` unless it is https, or http to this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        return url
    raise BadInput(f"{url!r} is not fetched: range files are taken over https only", field="url")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def fetch(mark: Mark, timeout_s: float = _TIMEOUT_S) -> Fetched | None:
    """The file at the mark's address, ``None`` when it has not changed since.

    Raises ``Unavailable`` when the server does not answer or the answer is cut off, ``BadInput``
    when it answers with something else.
    """
    request = Request(check_url(mark.url), headers=_headers(mark))
    try:
        reply = send(request, timeout_s, MAX_FILE_BYTES, check_url)
    except (NoReply, TooLarge) as error:
        raise type(error)(f"{mark.url}: {error}") from error
    if reply.status == HTTPStatus.NOT_MODIFIED:
        return None
    if not 200 <= reply.status < 300:
        raise _error(mark, reply)
    return Fetched(reply.body, _next(mark, reply.headers))


def _headers(mark: Mark) -> dict[str, str]:
    headers = {"User-Agent": _AGENT, "Accept-Encoding": "gzip"}
    if mark.etag:
        headers["If-None-Match"] = mark.etag
    if mark.last_modified:
        headers["If-Modified-Since"] = mark.last_modified
    return headers


def _next(mark: Mark, headers: Mapping[str, str]) -> Mark:
    return replace(
        mark,
        etag=headers.get("etag", ""),
        last_modified=headers.get("last-modified", ""),
    )


def _error(mark: Mark, reply: Reply) -> NephoscopeError:
    text = f"{mark.url}: the server answers {reply.status} {reply.reason}"
    is_temporary = reply.status >= 500 or reply.status in _TEMPORARY
    return Unavailable(text) if is_temporary else BadInput(text)
