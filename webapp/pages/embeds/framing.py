"""Pages that other sites may show in a frame.

Nothing in them changes anything, so that a click which a frame steals has no effect. Only what is
public, or opened by a share link, may be framed by others.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from webapp.pages.ui.content_security import FRAMABLE_POLICY
from webapp.store.access.visibility import SharedReader, may_see

View = Callable[..., HttpResponse]


def framable(kind: str) -> Callable[[View], View]:
    """Let frames of any site show the page of a survey or audit, by ``slug``, to anyone."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, slug: str, *args: Any, **more: Any) -> HttpResponse:
            response = view(request, slug, *args, **more)
            if isinstance(request.user, SharedReader) or may_see(kind, [slug]):
                response.headers["Content-Security-Policy"] = FRAMABLE_POLICY
                response.xframe_options_exempt = True
            return response

        return wrapper

    return decorate
