"""Share links: ``/shared/TOKEN/…`` is the site as it is below ``/…``, but of one thing, to read.

The token is in every address that such a page links to, so that access depends on the address
alone, on no cookie and on no account of the visitor.
"""

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils.deprecation import MiddlewareMixin

from webapp.pages.ui import errors
from webapp.store.access import sharing
from webapp.store.access.url_ownership import is_shareable_route
from webapp.store.access.visibility import SharedReader

_PREFIX = re.compile(r"/shared/([A-Za-z0-9_-]{20,100})(/.*)?")
READING = ("GET", "HEAD", "OPTIONS")
# Where a link leads: the first page of what it shows. Lists of such things lead there too.
HOMES = {"survey": "survey", "campaign": "campaign", "audit": "audit"}
_FRONTS = ("atlas", "campaigns", "audits")
# Pages that a visitor may open although they are of no single thing.
_OTHERS = {"survey": ("search", "about"), "campaign": ("about",), "audit": ("about",)}


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
        request.path_info = found[2] or "/"
        if request.method not in READING:
            return errors.read_only(request)
        return None

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Lead to what is shown, and let pages of other things not be there."""
        reader, match = request.user, request.resolver_match
        if not isinstance(reader, SharedReader) or match is None:
            return None
        link = reader.link
        if match.url_name in _FRONTS:
            return HttpResponseRedirect(reverse(HOMES[link.kind], args=[link.slug]))
        if (
            not is_shareable_route(match.route, link.kind)
            and match.url_name not in _OTHERS[link.kind]
        ):
            raise Http404("a share link opens one thing")
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
