"""Links to the present page with other query values."""

from typing import Any

from django.http import HttpRequest


def with_query(request: HttpRequest, **changed: Any) -> str:
    """Return the present page's query with some values changed; empty ones are removed."""
    query = request.GET.copy()
    for key, value in changed.items():
        query.pop(key, None)
        if value not in ("", None):
            query[key] = str(value)
    return f"?{query.urlencode()}" if query else request.path
