"""``RateLimit`` headers (draft-ietf-httpapi-ratelimit-headers-10) of every reply of the API.

What is limited is not how often somebody asks but how many surveys wait or run at once.
"""

from collections.abc import Iterable

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from webapp.store.access.visibility import owner_of
from webapp.store.surveys import services


def stamp_policy(response: HttpResponse) -> HttpResponse:
    """Say which quota everybody shares, where neither the asker nor what is left is looked up.

    Replies that are made before the site sees a request say no more than this.
    """
    response.headers["RateLimit-Policy"] = _policy(
        [("active-surveys", settings.MAX_ACTIVE_SURVEYS)]
    )
    return response


def _policy(quotas: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f'"{name}";q={most}' for name, most in quotas)


def stamp(request: HttpRequest, response: HttpResponse) -> None:
    """Say which quotas there are and what is left of them; the policy alone without the store."""
    user = owner_of(getattr(request, "user", None))
    try:
        quotas = [("active-surveys", settings.MAX_ACTIVE_SURVEYS, services.active_surveys())]
        if user:
            most = settings.MAX_ACTIVE_SURVEYS_PER_USER
            quotas.append(("active-surveys-of-yours", most, services.active_surveys(user)))
    except DatabaseError:
        stamp_policy(response)
        return
    left = ", ".join(f'"{name}";r={max(0, most - used)}' for name, most, used in quotas)
    response.headers["RateLimit-Policy"] = _policy((name, most) for name, most, _ in quotas)
    response.headers["RateLimit"] = left
