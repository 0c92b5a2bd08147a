"""Share links: ``/shared/TOKEN/…`` is the site as it is below ``/…``, but of one survey, to read.

The token stands in every address that such a page leads to, so that what is opened depends on the
address alone: no cookie, and no account of the visitor's, has a part in it.
"""

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.deprecation import MiddlewareMixin

from webapp.pages import errors
from webapp.pages.access import ROUTES_OF_A_SURVEY
from webapp.store import sharing
from webapp.store.accounts import SharedReader

_PREFIX = re.compile(r"/shared/([A-Za-z0-9_-]{20,100})(/.*)")
READING = ("GET", "HEAD", "OPTIONS")
# Pages that a visitor may open although they are of no single survey.
_OTHERS = ("atlas", "search", "about")
# Pages of a survey that belong to whoever made it.
_CLOSED = ("sharing", "visibility", "new-share-link", "delete-survey")


class SharedView(MiddlewareMixin):
    """Middleware: opens the addresses below a live link, and nothing but reading."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Take the token off the address, and the visitor for what the link makes of them."""
        found = _PREFIX.fullmatch(request.path_info)
        if found is None:
            return None
        link = sharing.find(found[1])
        if link is None:
            return errors.not_found(request)
        request.user = SharedReader(link)
        request.shared_from = get_script_prefix()  # type: ignore[attr-defined]
        set_script_prefix(f"{get_script_prefix()}shared/{found[1]}/")
        request.path_info = found[2]
        if request.method not in READING:
            return errors.read_only(request)
        return None

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Lead to the survey, and let pages of other things not be there."""
        reader, match = request.user, request.resolver_match
        if not isinstance(reader, SharedReader) or match is None:
            return None
        if match.url_name == "atlas":
            return HttpResponseRedirect(reverse("survey", args=[reader.link.survey.slug]))
        is_open = ROUTES_OF_A_SURVEY.match(match.route) or match.url_name in _OTHERS
        if not is_open or match.url_name in _CLOSED:
            raise Http404("a share link opens one survey")
        return None

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Put the address back, and keep what was shared out of search engines and caches."""
        before = getattr(request, "shared_from", None)
        if before is not None:
            set_script_prefix(before)
        if request.path.startswith("/shared/"):
            response.headers["X-Robots-Tag"] = "noindex, nofollow"
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response
