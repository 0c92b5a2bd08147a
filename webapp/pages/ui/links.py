"""Addresses of pages, and links to the present page with other query values."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse
from django.utils.http import RFC3986_SUBDELIMS

# Characters that Django leaves as they are in the path of an address.
_UNQUOTED = f"{RFC3986_SUBDELIMS}/~:@"
_PLACE = "0-place-0"


def path_to(route: str, *values: str) -> str:
    """Return the address of a page, composed once; raises ``NoReverseMatch``.

    For routes without a namespace. Composing an address takes longer than drawing its element.
    """
    return _path(get_script_prefix(), route, tuple(map(str, values)), ())


def path_with(route: str, values: dict[str, str]) -> str:
    """The same, with the values by the names of the route's parameters."""
    named = tuple((name, str(value)) for name, value in values.items())
    return _path(get_script_prefix(), route, (), named)


def paths_below(route: str, slug: str) -> Callable[[str], str]:
    """Return a function with the address of each value of a route of a survey.

    For rows of tables: a thousand values would displace other addresses from the cache.
    """
    before, after = path_to(route, slug, _PLACE).split(_PLACE)

    def path(value: str) -> str:
        if not value or "/" in value:
            return path_to(route, slug, value)
        return f"{before}{quote(value, safe=_UNQUOTED)}{after}"

    return path


@lru_cache(maxsize=4_096)
def _path(
    prefix: str, route: str, values: tuple[str, ...], named: tuple[tuple[str, str], ...]
) -> str:
    return reverse(route, args=values, kwargs=dict(named))


def with_query(request: HttpRequest, **changed: Any) -> str:
    """Return the present page's query with some values changed; empty ones are removed."""
    query = request.GET.copy()
    for key, value in changed.items():
        query.pop(key, None)
        if value not in ("", None):
            query[key] = str(value)
    return f"?{query.urlencode()}" if query else request.path
