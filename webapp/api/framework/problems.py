"""Errors as problem details (RFC 9457), one ``type`` per kind."""

import logging
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError

from core.errors import BadInput, Conflict, Damaged, Forbidden, MissingData, NephoscopeError
from webapp.api.framework.events import TooManyStreams
from webapp.api.framework.paging import ListChanged
from webapp.store.audits.services import TooManyAudits
from webapp.store.recommendations.services import TooManyRecommendations
from webapp.store.requests import failures
from webapp.store.requests.idempotency import KeyReused
from webapp.store.requests.list_slot import RETRY_AFTER_S, ClientGone, ListsBusy
from webapp.store.simulations.services import TooManySimulations
from webapp.store.surveys.services import TooManySurveys
from webapp.store.vantages.services import UnknownToken

log = logging.getLogger(__name__)
_DOCS = "/api/v1/docs"
_TYPES = "/api/v1/problems"
_TITLES = {
    400: "The request cannot be read",
    401: "This key opens nothing",
    403: "This is not yours to change",
    404: "There is no such thing here",
    405: "Method not allowed",
    409: "This conflicts with the present state",
    413: "The upload is too large",
    415: "This kind of content is not taken",
    422: "The input cannot be used",
    429: "A limit is reached",
    500: "Something broke on this site",
    503: "A part of this site does not answer",
}


class Problem(Schema):
    """Problem details (RFC 9457); ``type`` leads to a page that explains the type.

    ``field`` or ``line`` is the position of the fault; ``retry_after`` is in seconds.
    """

    type: str
    title: str
    status: int
    detail: str
    docs: str = _DOCS
    field: str | None = None
    line: int | None = None
    limit: str | None = None
    retry_after: int | None = None


def type_of(kind: str) -> str:
    """Return the URI of a type of problems, at which it is explained."""
    return f"{_TYPES}/{kind}"


def problem(status: int, kind: str, detail: str, **more: Any) -> HttpResponse:
    """A problem document."""
    body = {
        "type": type_of(kind),
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "docs": _DOCS,
        **{k: v for k, v in more.items() if v is not None},
    }
    response = JsonResponse(body, status=status, content_type="application/problem+json")
    if "retry_after" in body:
        response["Retry-After"] = str(body["retry_after"])
    return response


def _bad_input(request: HttpRequest, error: BadInput) -> HttpResponse:
    return problem(422, "bad-input", str(error), line=error.line, field=error.field)


def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0] if error.errors else {}
    place = first.get("loc", ())
    # The location of a body's field begins with the argument name, which clients do not know.
    where = ".".join(str(p) for p in place[2 if place[:1] == ("body",) else 1 :])
    return problem(422, "invalid-field", str(first.get("msg", "")), field=where or None)


def _limited(request: HttpRequest, error: TooManySurveys) -> HttpResponse:
    return problem(429, "active-surveys", str(error), limit="active surveys", retry_after=30)


def _busy(request: HttpRequest, error: TooManyRecommendations) -> HttpResponse:
    return problem(429, "open-recommendations", str(error), retry_after=30)


def _simulating(request: HttpRequest, error: TooManySimulations) -> HttpResponse:
    return problem(429, "open-simulations", str(error), retry_after=30)


def storage_problem(error: BaseException | None) -> HttpResponse:
    """Return the problem of a storage failure, or an internal error."""
    found = failures.describe(error)
    return problem(found.status, found.kind, found.detail, retry_after=found.retry_after_s)


def _unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("%s %s", request.method, request.path[:200], exc_info=error)
    return storage_problem(error)


def register(api: NinjaAPI) -> None:
    """Install the handlers on an API."""
    handlers: dict[type[Exception], Callable[..., HttpResponse]] = {
        BadInput: _bad_input,
        Conflict: lambda r, e: problem(409, "conflict", str(e), field=e.field),
        ListChanged: lambda r, e: problem(409, "list-changed", str(e), field="cursor"),
        UnknownToken: lambda r, e: problem(403, "unknown-token", str(e)),
        KeyReused: lambda r, e: problem(422, "idempotency-key-reused", str(e)),
        ListsBusy: lambda r, e: problem(429, "lists", str(e), retry_after=RETRY_AFTER_S),
        TooManyStreams: lambda r, e: problem(429, "streams", str(e), retry_after=30),
        ClientGone: lambda r, e: problem(503, "client-gone", str(e)),
        ValidationError: _invalid,
        TooManySurveys: _limited,
        TooManyRecommendations: _busy,
        TooManySimulations: _simulating,
        TooManyAudits: lambda r, e: problem(429, "open-audits", str(e), retry_after=30),
        Forbidden: lambda r, e: problem(403, "refused", str(e)),
        MissingData: lambda r, e: problem(409, "missing-data", str(e)),
        NephoscopeError: lambda r, e: problem(503, "unavailable", str(e)),
        RequestDataTooBig: lambda r, e: problem(413, "too-large", "the body is over 40 MiB"),
        HttpError: lambda r, e: problem(e.status_code, "refused", str(e)),
        Damaged: _unexpected,
        Exception: _unexpected,
        Http404: lambda r, e: problem(404, "not-found", str(e) or "no such resource"),
    }
    for kind, handler in handlers.items():
        api.exception_handler(kind)(handler)
