"""Published files over HTTP, asked for politely: only what has changed, and no more than a limit.

In go an address and what is known of the last answer; out comes the new file, or that there is
none.
"""

import http.client
import ipaddress
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from cartography.ranges.gzip_file import MAX_FILE_BYTES
from core.errors import BadInput, Unavailable

_TIMEOUT_S = 30.0
_AGENT = "nephoscope range tables (one conditional request a day)"
_NOT_MODIFIED = 304
_TOO_MANY_REQUESTS, _REQUEST_TIMEOUT = 429, 408


@dataclass(frozen=True, slots=True)
class Mark:
    """What the server said of a file: sent back, it asks for the file only if it has changed."""

    url: str
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file as it came (plain or gzip), and the mark for the next time."""

    data: bytes
    mark: Mark


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirect away from an encrypted connection."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        check_url(urljoin(req.full_url, newurl))
        return super().redirect_request(req, fp, code, msg, headers, newurl)


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
    request = urllib.request.Request(check_url(mark.url), headers=_headers(mark))
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        with opener.open(request, timeout=timeout_s) as reply:
            data = reply.read(MAX_FILE_BYTES + 1)
            return Fetched(_checked(mark, data, reply.headers), _next(mark, reply.headers))
    except urllib.error.HTTPError as error:
        _read_error(mark, error)
        return None
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{mark.url}: {getattr(error, 'reason', None) or error}") from error


def _headers(mark: Mark) -> dict[str, str]:
    headers = {"User-Agent": _AGENT, "Accept-Encoding": "gzip"}
    if mark.etag:
        headers["If-None-Match"] = mark.etag
    if mark.last_modified:
        headers["If-Modified-Since"] = mark.last_modified
    return headers


def _checked(mark: Mark, data: bytes, headers: Any) -> bytes:
    said = headers.get("Content-Length", "")
    if said.isdigit() and int(said) > len(data) <= MAX_FILE_BYTES:
        raise Unavailable(f"{mark.url}: {len(data):,} of {int(said):,} bytes came")
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(f"{mark.url}: the file is larger than {MAX_FILE_BYTES // 2**20} MiB")
    return data


def _next(mark: Mark, headers: Any) -> Mark:
    return replace(
        mark,
        etag=headers.get("ETag", ""),
        last_modified=headers.get("Last-Modified", ""),
    )


def _read_error(mark: Mark, error: urllib.error.HTTPError) -> None:
    with error:
        if error.code == _NOT_MODIFIED:
            return
        text = f"{mark.url}: the server answers {error.code} {error.reason}"
        if error.code >= 500 or error.code in (_TOO_MANY_REQUESTS, _REQUEST_TIMEOUT):
            raise Unavailable(text) from error
        raise BadInput(text) from error
