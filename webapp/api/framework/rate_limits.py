"""``RateLimit`` headers (draft-ietf-httpapi-ratelimit-headers-10) of all API responses.

The quota limits concurrently active surveys, not request rates.
"""

from collections.abc import Iterable

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from webapp.store.access import quotas as account_quotas
from webapp.store.access.visibility import owner_of


def add_policy_header(response: HttpResponse) -> HttpResponse:
    """Add the ``RateLimit-Policy`` header of the global quota, without reading the store.

    For responses that are sent before Django handles the request.
    """
    response.headers["RateLimit-Policy"] = _policy(
        [("active-surveys", settings.MAX_ACTIVE_SURVEYS)]
    )
    return response


def _policy(quotas: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f'"{name}";q={most}' for name, most in quotas)


def add_rate_limit_headers(request: HttpRequest, response: HttpResponse) -> None:
    """Add both headers; only the policy where the database fails."""
    user = owner_of(getattr(request, "user", None))
    try:
        quotas = [("active-surveys", settings.MAX_ACTIVE_SURVEYS, account_quotas.active_surveys())]
        if user:
            most = settings.MAX_ACTIVE_SURVEYS_PER_USER
            quotas.append(("active-surveys-of-yours", most, account_quotas.active_surveys(user)))
    except DatabaseError:
        add_policy_header(response)
        return
    left = ", ".join(f'"{name}";r={max(0, most - used)}' for name, most, used in quotas)
    response.headers["RateLimit-Policy"] = _policy((name, most) for name, most, _ in quotas)
    response.headers["RateLimit"] = left
