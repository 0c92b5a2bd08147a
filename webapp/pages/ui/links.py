"""Addresses of the page that is shown, with other values in their query."""

from typing import Any

from django.http import HttpRequest


def with_query(request: HttpRequest, **changed: Any) -> str:
    """As this page, with some values changed; an empty one is left out."""
    query = request.GET.copy()
    for key, value in changed.items():
        query.pop(key, None)
        if value not in ("", None):
            query[key] = str(value)
    return f"?{query.urlencode()}" if query else request.path
