"""Pages that need an account send others to sign in, and bring them back."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

View = Callable[..., HttpResponse]


def signed_in(view: View) -> View:
    """A view for people with an account; others are sent to sign in, then come back."""

    @wraps(view)
    def ask(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **more)
        # A form that was sent cannot be sent again: they come back to where it stood.
        back = request.get_full_path() if request.method == "GET" else ""
        query = f"?{urlencode({'next': back})}" if back else ""
        return HttpResponseRedirect(reverse("sign-in") + query)

    return ask
