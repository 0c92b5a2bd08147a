"""``RateLimit`` headers (draft-ietf-httpapi-ratelimit-headers-10) of every reply of the API.

What is limited is not how often somebody asks but how many surveys wait or run at once.
"""

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from webapp.store import services
from webapp.store.accounts import owner_of


def stamp(request: HttpRequest, response: HttpResponse) -> None:
    """Say which quotas there are and what is left of them; nothing where the store is away."""
    user = owner_of(getattr(request, "user", None))
    try:
        quotas = [("active-surveys", settings.MAX_ACTIVE_SURVEYS, services.active_surveys())]
        if user:
            most = settings.MAX_ACTIVE_SURVEYS_PER_USER
            quotas.append(("active-surveys-of-yours", most, services.active_surveys(user)))
    except DatabaseError:
        return
    policy = ", ".join(f'"{name}";q={most}' for name, most, _ in quotas)
    left = ", ".join(f'"{name}";r={max(0, most - used)}' for name, most, used in quotas)
    response.headers["RateLimit-Policy"] = policy
    response.headers["RateLimit"] = left
