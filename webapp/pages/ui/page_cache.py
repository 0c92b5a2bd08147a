"""Cache of the pages of finished surveys, which never change.

A page is valid for a limited time, since other surveys that it mentions may change, and no longer
than the survey's version: its state, closing time, tables and owner. The key includes the reader:
anonymous visitors share one entry, each account and each share link has another.
"""

import gzip
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial, wraps
from threading import Lock
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse

from webapp.store.access import survey_versions
from webapp.store.access.visibility import reader_key
from webapp.store.surveys import derived

KEPT_S, INDEXED_KEPT_S = 60.0, 600.0
MAX_BYTES = 64 * 1024 * 1024
# An entry's key, times and headers, in bytes.
OVERHEAD_BYTES = 1_000
VARY = "Accept-Encoding, Cookie"
View = Callable[..., HttpResponse]


class CachedPage(NamedTuple):
    """A compressed body."""

    stored_s: float
    packed: bytes
    tag: str

    @property
    def size(self) -> int:
        """Bytes that it counts in the cache."""
        return len(self.packed) + OVERHEAD_BYTES


class PageCache:
    """Compressed bodies by key, with a limit of bytes; the least recently used go first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._used = max_bytes, 0
        self._kept: OrderedDict[Any, CachedPage] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Any, now_s: float, kept_s: float = KEPT_S) -> CachedPage | None:
        """Return a body that is at most ``kept_s`` old, or ``None``."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or now_s - found.stored_s > kept_s:
                return None
            self._kept.move_to_end(key)
            return found

    def store(self, key: Any, now_s: float, body: bytes) -> CachedPage:
        """Compress and store a body."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        page = CachedPage(now_s, gzip.compress(body, 6, mtime=0), tag)
        with self._lock:
            old = self._kept.pop(key, None)
            self._used += page.size - (old.size if old else 0)
            self._kept[key] = page
            while self._used > self._max_bytes:
                self._used -= self._kept.popitem(last=False)[1].size
        return page


_cache = PageCache()


def cached_page(view: View, *, is_indexed: bool = False) -> View:
    """Cache the response of a survey's view, by ``slug``, once the survey has ended.

    A view that reads the survey's index is cached once the index has been built.
    """
    kept_s = INDEXED_KEPT_S if is_indexed else KEPT_S

    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, *args: Any, **more: Any) -> HttpResponse:
        version = survey_versions.read_version(request, slug) if request.method == "GET" else None
        if version is None or not version.is_final or is_indexed and not _has_index(slug, version):
            return view(request, slug, *args, **more)
        key = (reader_key(request.user), request.build_absolute_uri(), version)
        now_s = time.monotonic()
        found = _cache.get(key, now_s, kept_s)
        if found is None:
            answer = view(request, slug, *args, **more)
            # A form's token belongs to one browser, and so does a one-time message.
            is_personal = request.META.get("CSRF_COOKIE_NEEDS_UPDATE") or answer.cookies
            if answer.status_code != 200 or is_personal:
                return answer
            found = _cache.store(key, now_s, answer.content)
        return _answer(request, found)

    return wrapper


cached_index_page = partial(cached_page, is_indexed=True)


def _has_index(slug: str, version: survey_versions.SurveyVersion) -> bool:
    return derived.index_folder(slug, version.finished_at).is_dir()


def _answer(request: HttpRequest, page: CachedPage) -> HttpResponse:
    if request.headers.get("If-None-Match", "").removeprefix("W/") == page.tag:
        return HttpResponse(status=304, headers={"ETag": page.tag, "Vary": VARY})
    is_packed = "gzip" in request.headers.get("Accept-Encoding", "")
    answer = HttpResponse(page.packed if is_packed else gzip.decompress(page.packed))
    if is_packed:
        answer["Content-Encoding"] = "gzip"
    answer["ETag"] = page.tag
    answer["Vary"] = VARY
    answer["Cache-Control"] = "private, no-cache"
    return answer
