"""Authentication of API requests by token or session, CSRF checks and object visibility.

Invalid and read-only tokens are refused before any endpoint runs; objects that are not visible to
the requester answer 404.
"""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from ninja.errors import HttpError
from ninja.utils import check_csrf

from webapp.api.framework import rate_limits
from webapp.api.framework.problems import problem
from webapp.api.framework.routers import needs_account
from webapp.store.access import survey_versions, token_subjects, tokens
from webapp.store.access.url_ownership import kind_of, names_in
from webapp.store.vantages import services

_BASE = "/api/"
_BEARER = re.compile(r"Bearer +(\S+)", re.IGNORECASE)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class ApiAuthenticationMiddleware(MiddlewareMixin):
    """Middleware of every address below ``/api/``."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Authenticate the request by its bearer token."""
        given = request.headers.get("Authorization", "")
        if not request.path_info.startswith(_BASE) or not given or _is_shared(request):
            return None
        found = _BEARER.fullmatch(given.strip())
        token = tokens.find(found[1]) if found else None
        if token is None:
            return _unknown_token()
        request.user = token.owner
        request.api_token = token  # type: ignore[attr-defined]
        return None

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Refuse forbidden writes, cross-site requests, and objects that are not visible."""
        match = request.resolver_match
        if match is None or not match.route.startswith("api/"):
            return None
        refused = _check_subject(request, match.route)
        if refused is None and request.method not in SAFE_METHODS:
            refused = _check_write(request)
        if refused is None and _lacks_account(request, match.route):
            refused = _no_account()
        kind, names = kind_of(match.route), names_in(kwargs)
        if refused is None and kind and not survey_versions.may_read(request, kind, names):
            return problem(404, "not-found", f"there is no such {kind}")
        return refused

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Add rate-limit, ``Vary`` and ``Cache-Control`` headers."""
        if request.path_info.startswith(_BASE):
            rate_limits.add_rate_limit_headers(request, response)
            patch_vary_headers(response, ["Authorization", "Cookie"])
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


def _is_shared(request: HttpRequest) -> bool:
    return getattr(request, "shared_from", None) is not None


def _lacks_account(request: HttpRequest, route: str) -> bool:
    """Whether an account is needed and there is none; the reply does not reveal whether the object
    exists.
    """
    is_known = request.user.is_authenticated or _is_shared(request)
    return not is_known and needs_account(request.method, route)


def _no_account() -> HttpResponse:
    answer = problem(401, "refused", "this needs an account: send its token, or sign in")
    answer["WWW-Authenticate"] = 'Bearer realm="Nephoscope"'
    return answer


def _unknown_token() -> HttpResponse:
    answer = problem(401, "unknown-token", "this token is unknown, has expired or was revoked")
    answer["WWW-Authenticate"] = 'Bearer realm="Nephoscope"'
    return answer


def _check_subject(request: HttpRequest, route: str) -> HttpResponse | None:
    """Return the refusal of an operation that the token is not for, or ``None``."""
    token = getattr(request, "api_token", None)
    missing = token_subjects.missing_subject(token, route) if token is not None else ""
    if not missing:
        return None
    allowed = ", ".join(token.subjects)  # type: ignore[union-attr]
    return problem(403, "limited-token", f"this token is limited to {allowed}, not {missing}")


def _check_write(request: HttpRequest) -> HttpResponse | None:
    """Return the refusal of a write request, or ``None``."""
    token = getattr(request, "api_token", None)
    if token is not None:
        if token.scope == token.Scope.WRITE:
            return None
        return problem(403, "read-only-token", "this token may only read; make one that may change")
    # Browsers mark requests that another site caused.
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        return problem(403, "csrf", "another site may not change anything here")
    # Other session requests need a CSRF token.
    is_forged = request.user.is_authenticated and check_csrf(request) is not None
    if is_forged:
        return problem(403, "csrf", "a session needs the X-CSRFToken header; a token does not")
    return None


def require_operator(request: HttpRequest) -> None:
    """Raise ``HttpError`` 401 or 403 unless the requester is an operator."""
    if not services.is_operator(request.user):
        status = 403 if request.user.is_authenticated else 401
        raise HttpError(status, "only operators of this site may do this")
