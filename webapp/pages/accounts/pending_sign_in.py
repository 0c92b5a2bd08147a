"""A session that begins once every factor of an account was right."""

import time
from typing import Any

from django.contrib import auth
from django.http import HttpRequest

from webapp.store.access import events

# The session's key of who has given the right password, and not yet a code.
PENDING = "pending_sign_in"
_BACKEND = "django.contrib.auth.backends.ModelBackend"


def defer(request: HttpRequest, user: Any, after: str) -> None:
    """Remember who has to give a code, and the page to open then; the session has no user yet."""
    auth.logout(request)
    request.session[PENDING] = {"user": user.pk, "at": time.time(), "after": after}


def complete(request: HttpRequest, user: Any) -> None:
    """Begin a session of this person's; the one before it, and its form tokens, are void."""
    request.session.pop(PENDING, None)
    auth.login(request, user, backend=_BACKEND)
    request.session.clear_expired()
    events.record(user, "account.sign-in")
