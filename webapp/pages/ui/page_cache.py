"""Cache of the pages of finished surveys, which never change.

A page is valid for a minute, so that "two hours ago" stays true, and no longer than the survey's
version: its state, closing time, tables and owner. The key includes the reader: anonymous visitors
share one entry, each account and each share link has another.
"""

import gzip
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

from django.db.models import Max
from django.http import HttpRequest, HttpResponse

from webapp.store.access.visibility import reader_key, visible
from webapp.store.models import Survey

KEPT_S = 60.0
MAX_BYTES = 64 * 1024 * 1024
VARY = "Accept-Encoding, Cookie"
View = Callable[..., HttpResponse]


class PageCache:
    """Bodies by key, with a limit of bytes; the least recently used are dropped first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._used = max_bytes, 0
        self._kept: OrderedDict[Any, tuple[float, bytes, bytes, str]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Any, now_s: float) -> tuple[bytes, bytes, str] | None:
        """Return (plain, gzip, ETag) of a fresh body, or ``None``."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or now_s - found[0] > KEPT_S:
                return None
            self._kept.move_to_end(key)
            return found[1:]

    def store(self, key: Any, now_s: float, body: bytes) -> tuple[bytes, bytes, str]:
        """Store a body, and return it as ``get`` does."""
        packed = gzip.compress(body, 6, mtime=0)
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        with self._lock:
            old = self._kept.pop(key, None)
            self._used += len(body) + len(packed) - (len(old[1]) + len(old[2]) if old else 0)
            self._kept[key] = (now_s, body, packed, tag)
            while self._used > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._used -= len(dropped[1]) + len(dropped[2])
        return body, packed, tag


_cache = PageCache()


def cached_page(view: View) -> View:
    """Cache the response of a survey's view, by ``slug``, once the survey has ended."""

    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, *args: Any, **more: Any) -> HttpResponse:
        version = _version(slug, request.user) if request.method == "GET" else None
        if version is None:
            return view(request, slug, *args, **more)
        asked = (reader_key(request.user), request.build_absolute_uri())
        key, now_s = (*asked, *version), time.monotonic()
        found = _cache.get(key, now_s)
        if found is None:
            answer = view(request, slug, *args, **more)
            # A form's token belongs to one browser, and so does a one-time message.
            is_personal = request.META.get("CSRF_COOKIE_NEEDS_UPDATE") or answer.cookies
            if answer.status_code != 200 or is_personal:
                return answer
            found = _cache.store(key, now_s, answer.content)
        return _answer(request, *found)

    return wrapper


def _version(slug: str, reader: Any) -> tuple[Any, ...] | None:
    """Return what a page depends on; ``None`` while the survey runs or is not visible."""
    rows = Survey.objects.filter(slug=slug, finished_at__isnull=False)
    row = (
        visible(rows, reader)
        .order_by()
        .annotate(computed_at=Max("reports__computed_at"))
        .values_list("pk", "state", "finished_at", "computed_at", "name", "owner_id")
        .first()
    )
    return row if row and row[3] else None


def _answer(request: HttpRequest, body: bytes, packed: bytes, tag: str) -> HttpResponse:
    if request.headers.get("If-None-Match", "").removeprefix("W/") == tag:
        return HttpResponse(status=304, headers={"ETag": tag, "Vary": VARY})
    is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = HttpResponse(packed if is_packed else body)
    if is_packed:
        answer["Content-Encoding"] = "gzip"
    answer["ETag"] = tag
    answer["Vary"] = VARY
    answer["Cache-Control"] = "private, no-cache"
    return answer
