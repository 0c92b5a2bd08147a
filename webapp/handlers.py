"""Errors that no view answers: problem documents below ``/api/``, pages elsewhere."""

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse

from webapp.api.framework.problems import problem, storage_problem
from webapp.pages.ui import errors


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """No such address."""
    if _is_api(request):
        return problem(404, "not-found", "there is nothing at this address")
    return errors.not_found(request, exception)


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """A request that cannot be read."""
    if _is_api(request):
        return problem(400, "bad-request", "the request cannot be read")
    return errors.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """Something that is not for the asker."""
    if _is_api(request):
        return problem(403, "refused", "this is not allowed")
    return errors.forbidden(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of this site, or of its storage."""
    return storage_problem(sys.exc_info()[1]) if _is_api(request) else errors.server_error(request)
