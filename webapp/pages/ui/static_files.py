"""Serve static files from the source tree with gzip copies.

The copy of a file is made once, at the first start that sees it, in the data folder.
"""

import gzip
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from core.files import write_bytes
from webapp.pages.ui.provider_styles import write_stylesheet

# Fonts and pictures are packed already; below this many bytes nothing is won.
_PACKABLE = frozenset({".css", ".js", ".json", ".svg", ".html", ".map"})
_LEAST_BYTES = 512
# Libraries and fonts change with an installation only; what is newer is asked for after this.
_VENDOR_AGE_S = 24 * 3600


class CompressedStaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise over the tree itself, so that there is no step between editing and serving."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        write_stylesheet(Path(settings.STATIC_ROOT))
        super().__init__(*args, **kwargs)

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> StaticFile:
        """A file with its headers, and its packed copy where that is smaller."""
        plain = super().get_static_file(path, url, stat_cache)
        copy = compress(Path(path), Path(settings.DATA_DIR) / "packed")
        if copy is None:
            return plain
        headers = Headers([])
        self.add_mime_headers(headers, path, url)
        self.add_cache_headers(headers, path, url)
        return StaticFile(path, headers.items(), encodings={"gzip": str(copy)})

    def add_cache_headers(self, headers: Headers, path: str, url: str) -> None:
        """How long a browser need not ask."""
        if url.startswith(f"{self.static_prefix}vendor/"):
            headers["Cache-Control"] = f"max-age={_VENDOR_AGE_S}, public"
        else:
            super().add_cache_headers(headers, path, url)


def compress(path: Path, folder: Path) -> Path | None:
    """The packed copy of a file as it stands now; ``None`` for what is not worth it."""
    found = path.stat()
    if path.suffix not in _PACKABLE or found.st_size < _LEAST_BYTES:
        return None
    name = sha256(f"{path} {found.st_mtime_ns} {found.st_size}".encode()).hexdigest()[:24]
    copy = folder / f"{name}.gz"
    # A full disk keeps no site from starting: its files go out as they are.
    return copy if copy.exists() or _write(copy, _compressed(path, found.st_mtime_ns)) else None


def _write(copy: Path, data: bytes) -> bool:
    """Write a packed copy; false where the disk refuses."""
    # Processes that start together write the same; each moves a whole file into place.
    try:
        write_bytes(copy, data)
    except OSError:
        return False
    return True


@cache
def _compressed(path: Path, written_ns: int) -> bytes:
    """A file packed; once a process, however many folders it goes to."""
    return gzip.compress(path.read_bytes(), 9, mtime=0)
