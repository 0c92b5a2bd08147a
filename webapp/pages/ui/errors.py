"""Pages for what went wrong: what happened, what was kept, what to do."""

import sys
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.store.requests import failures


def _page(
    request: HttpRequest, status: int, title: str, advice: str, shared: str = ""
) -> HttpResponse:
    words = {"title": title, "advice": advice, "shared": shared}
    return render(request, "error.html", words, status=status)


def _shared_kind(request: HttpRequest) -> str:
    """Return the kind of thing that the request's share link shows, if it came by one."""
    link = getattr(getattr(request, "user", None), "link", None)
    return link.kind if link else ""


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """No page at this address."""
    shared = _shared_kind(request)
    if shared:
        advice = f"A link shows one {shared}, and this address is not of it."
        return _page(request, 404, "Page not found", advice, shared)
    return _page(
        request,
        404,
        "Page not found",
        "The survey, domain or name may have another spelling, or the link may be older than this "
        "installation. Search for it above, or go back to the atlas.",
    )


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """A request that cannot be read."""
    return _page(
        request,
        400,
        "This request could not be read",
        "Nothing was changed. If you sent a domain list, it may be larger than this site accepts: "
        "split it, or keep one column.",
    )


def forbidden(request: HttpRequest, exception: Any = None, reason: str = "") -> HttpResponse:
    """Show that a request is forbidden, or its form token missing."""
    return _page(
        request,
        403,
        "This form has expired",
        "Nothing was changed. Go back, reload the page and send the form again.",
    )


def read_only(request: HttpRequest) -> HttpResponse:
    """A change that was requested below a share link."""
    answer = _page(
        request,
        405,
        "What is shared is to be read",
        "Nothing was changed. Its owner can change it after signing in.",
        _shared_kind(request),
    )
    answer["Allow"] = "GET, HEAD"
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of this site, also where its store is away: the page then asks nothing of it."""
    failure = failures.describe(sys.exc_info()[1])
    title = "Something broke on this site"
    advice = (
        "Stored surveys are safe. Try again in a moment; if it stays, the log of the web server "
        "says what happened."
    )
    if failure.kind == "storage":
        title = "This site cannot use its storage"
        advice = f"{failure.detail[0].upper()}{failure.detail[1:]}."
    try:
        answer = _page(request, failure.status, title, advice)
    except DatabaseError:
        words = {"title": title, "advice": advice}
        answer = render(request, "error_bare.html", words, status=failure.status)
    if failure.retry_after_s is not None:
        answer["Retry-After"] = str(failure.retry_after_s)
    return answer
