"""Access to pools: the owner by key, anyone by a read-only share link.

Every page of a pool has two URLs; :class:`PoolAccess` knows which was requested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache

from webapp.pages.ui.access import signed_in
from webapp.store.screening import selectors
from webapp.store.screening.selectors import PoolRow

View = Callable[..., HttpResponse]
TABS = (
    ("verdicts", "Verdicts", "pool"),
    ("choose", "Choose the best", "pool-choose"),
    ("heat", "Who slows whom", "pool-heat"),
    ("calibrate", "Calibrate", "pool-calibrate"),
    ("history", "Over time", "pool-history"),
    ("logs", "Other tools", "pool-logs"),
)


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """A pool that may be read, and the address under which its pages stand."""

    pool: PoolRow
    secret: str = ""

    @property
    def is_mine(self) -> bool:
        """Whether it may be changed here; never by a share link, not even by its owner."""
        return self.pool.is_mine and not self.secret

    def href(self, name: str, **more: Any) -> str:
        """The address of one of its pages."""
        if self.secret:
            return reverse(f"shared-{name}", kwargs={"secret": self.secret, **more})
        return reverse(name, kwargs={"key": self.pool.key, **more})

    def context(self, tab: str) -> dict[str, Any]:
        """What every page of a pool shows."""
        tabs = [(key, title, self.href(name)) for key, title, name in TABS]
        if self.is_mine:
            tabs.append(("settings", "Settings", self.href("pool-settings")))
        return {
            "section": "screening",
            "tab": tab,
            "pool": self.pool,
            "access": self,
            "is_mine": self.is_mine,
            "read_only": bool(self.secret),
            "pool_href": self.href("pool"),
            "pool_tabs": tabs,
        }


def pool_page(view: View) -> View:
    """Wrap a page of a pool: call it with its ``PoolAccess``, else raise ``Http404``."""

    @never_cache
    @wraps(view)
    def find(
        request: HttpRequest, *args: Any, key: str = "", secret: str = "", **more: Any
    ) -> HttpResponse:
        found = (
            selectors.find_shared_pool(secret) if secret else selectors.find_pool(request.user, key)
        )
        if found is None:
            raise Http404("there is no such pool")
        response = view(request, PoolAccess(found, secret), *args, **more)
        if secret:
            # The address is the secret: it goes to no other site, and into no index.
            response["Referrer-Policy"] = "no-referrer"
            response["X-Robots-Tag"] = "noindex"
        return response

    return find


def own_pool(view: View) -> View:
    """A page or a change that only the pool's owner may make."""

    @never_cache
    @signed_in
    @wraps(view)
    def find(request: HttpRequest, *args: Any, key: str, **more: Any) -> HttpResponse:
        found = selectors.find_own_pool(request.user, key)
        if found is None:
            raise Http404("there is no such pool")
        return view(request, PoolAccess(found), *args, **more)

    return find
