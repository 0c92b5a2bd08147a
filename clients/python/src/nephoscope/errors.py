"""Errors of the client; those of the server carry its problem document (RFC 9457)."""

from typing import Any

import httpx

PROBLEM = "application/problem+json"


class NephoscopeError(Exception):
    """Root of all errors of this package."""


class WaitTimeout(NephoscopeError):
    """The work had not ended in the time that was given; it continues at the server."""


class NotFinished(NephoscopeError):
    """A result was requested before the work had ended."""


class WorkFailed(NephoscopeError):
    """A survey or audit ended without a result."""


class ProblemError(NephoscopeError):
    """The server refused a request.

    ``kind`` names the type of problem and ``type`` is the address of its explanation. ``field`` or
    ``line`` is the position of the fault; ``retry_after_s`` is given where a repetition may help.
    """

    def __init__(self, response: httpx.Response) -> None:
        document = _read(response)
        self.status = response.status_code
        self.type = str(document.get("type", "about:blank"))
        self.kind = self.type.rpartition("/")[2]
        self.title = str(document.get("title", response.reason_phrase))
        self.detail = str(document.get("detail", ""))
        self.field: str | None = document.get("field")
        self.line: int | None = document.get("line")
        self.retry_after_s: float | None = document.get("retry_after")
        where = self.field or (f"line {self.line}" if self.line else "")
        text = ": ".join(filter(None, (self.title, where, self.detail)))
        super().__init__(f"{text} ({self.status} {self.kind})")


class AuthenticationError(ProblemError):
    """401: no token, or one that is unknown, expired or revoked."""


class PermissionDenied(ProblemError):
    """403: the token may not do this."""


class NotFound(ProblemError):
    """404: there is no such object, or none that the token's account may see."""


class Conflict(ProblemError):
    """409: the state of the object does not allow it."""


class InvalidRequest(ProblemError):
    """400, 413, 415 or 422: the request cannot be used."""


class LimitReached(ProblemError):
    """429: a limit is reached, also after all repetitions."""


class ServerError(ProblemError):
    """500: a fault of the server."""


class Unavailable(ServerError):
    """503: the server or a part of it does not answer, also after all repetitions."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: AuthenticationError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: LimitReached,
    503: Unavailable,
}


def raise_for_problem(response: httpx.Response) -> None:
    """Raise the error of a refusal; a hook of ``httpx``."""
    if response.status_code < 400:
        return
    response.read()
    usual = ServerError if response.status_code >= 500 else InvalidRequest
    raise _BY_STATUS.get(response.status_code, usual)(response)


def _read(response: httpx.Response) -> dict[str, Any]:
    if response.headers.get("Content-Type", "").partition(";")[0] != PROBLEM:
        return {}
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
