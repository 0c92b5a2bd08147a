"""Lookup of the pool of an address."""

from django.http import Http404, HttpRequest

from webapp.store.screening import selectors
from webapp.store.screening.selectors import PoolRow


def find_pool(request: HttpRequest, key: str) -> PoolRow:
    """Return a visible pool; raise ``Http404`` otherwise."""
    row = selectors.find_pool(request.user, key)
    if row is None:
        raise Http404("there is no such pool")
    return row


def find_own_pool(request: HttpRequest, key: str) -> PoolRow:
    """Return a pool of the requester; raise ``Http404`` otherwise."""
    row = selectors.find_own_pool(request.user, key)
    if row is None:
        raise Http404("you have no such pool")
    return row
