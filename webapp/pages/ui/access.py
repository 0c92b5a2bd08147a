"""Access to pages: sign-in where it is required, and visibility of what a URL names.

It checks the URL before any view runs, so that no page can omit the check.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from webapp.store.access import survey_versions
from webapp.store.access.url_ownership import kind_of, names_in

View = Callable[..., HttpResponse]


def signed_in(view: View) -> View:
    """A view for people with an account; others are sent to sign in, then come back."""

    @wraps(view)
    def ask(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **more)
        # A form that was sent cannot be sent again: they come back to where it was.
        back = request.get_full_path() if request.method == "GET" else ""
        query = f"?{urlencode({'next': back})}" if back else ""
        return HttpResponseRedirect(reverse("sign-in") + query)

    return ask


def signed_in_unless_open(view: View) -> View:
    """The same, unless this installation lets everyone start surveys."""
    guarded = signed_in(view)

    @wraps(view)
    def ask(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        chosen = view if settings.ANONYMOUS_SURVEYS else guarded
        return chosen(request, *args, **more)

    return ask


class VisibilityMiddleware(MiddlewareMixin):
    """Middleware that raises ``Http404`` for what the reader may not see."""

    def process_request(self, request: HttpRequest) -> None:
        """Accept HEAD requests for pages; the server omits the body."""
        if request.method == "HEAD" and not request.path_info.startswith("/api/"):
            request.method = "GET"

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        """Look for what the address names; raises ``Http404``."""
        match = request.resolver_match
        if match is None or match.route.startswith("api/"):
            return
        kind, names = kind_of(match.route), names_in(kwargs)
        if kind is not None and not survey_versions.may_read(request, kind, names):
            raise Http404(f"no such {kind}")

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """What an account sees is cached only by its own browser, and revalidated."""
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-cache")
            patch_vary_headers(response, ["Cookie"])
        return response


class SecureCookies(MiddlewareMixin):
    """Middleware: cookies that were given over HTTPS never travel without it."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Mark them."""
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response
