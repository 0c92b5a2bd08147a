"""Serve static files from the source tree with gzip copies, at addresses that name their state.

The copy of a file is made once, at the first start that sees it, in the data folder. Pages link to
``/static/DIGEST/…``, where the digest is that of all files together: browsers cache those,
and relative addresses in style sheets and scripts stay within it.
"""

import gzip
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from wsgiref.headers import Headers

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from core.files import write_bytes
from webapp.pages.ui.provider_styles import build_stylesheet, write_stylesheet

# Fonts and pictures are packed already; below this many bytes nothing is won.
_PACKABLE = frozenset({".css", ".js", ".json", ".svg", ".html", ".map"})
_LEAST_BYTES = 512
# Libraries and fonts change with an installation only; what is newer is requested after this.
_VENDOR_AGE_S = 24 * 3600
_FOR_EVER = "max-age=31536000, public, immutable"
# By the folder of written files: each address with its file.
_LISTED: dict[str, dict[str, StaticFile]] = {}


@cache
def tree_digest() -> str:
    """Twelve digits of the SHA-256 of all static files as they are when the process starts."""
    whole = sha256(build_stylesheet().encode())
    for finder in finders.get_finders():
        for name, storage in sorted(finder.list([]), key=lambda found: found[0]):
            whole.update(name.encode())
            whole.update(sha256(Path(storage.path(name)).read_bytes()).digest())
    return whole.hexdigest()[:12]


class DigestStorage(StaticFilesStorage):
    """Addresses of static files with the digest; without it where files change under way."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._addresses: dict[str | None, str] = {}

    def url(self, name: str | None) -> str:
        """The address of a file, composed once; templates name few files."""
        if name not in self._addresses:
            self._addresses[name] = self._compose(name)
        return self._addresses[name]

    def _compose(self, name: str | None) -> str:
        found: str = super().url(name)
        base = str(self.base_url)
        if settings.WHITENOISE_AUTOREFRESH or not found.startswith(base):
            return found
        return f"{base}{tree_digest()}/{found.removeprefix(base)}"


class CompressedStaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise over the tree itself, so that there is no step between editing and serving."""

    files: dict[str, StaticFile]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        write_stylesheet(Path(settings.STATIC_ROOT))
        super().__init__(*args, **kwargs)

    def add_files_from_finders(self) -> None:
        """List the files once in a process; the digest, too, is that of its start."""
        root = str(settings.STATIC_ROOT)
        if root not in _LISTED:
            super().add_files_from_finders()
            _LISTED[root] = self.files
        self.files = _LISTED[root]

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> StaticFile:
        """A file with its headers, and its packed copy where that is smaller."""
        plain = super().get_static_file(path, url, stat_cache)
        copy = compress(Path(path), Path(settings.STATIC_ROOT).with_name("packed"))
        if copy is None:
            return plain
        headers = Headers([])
        self.add_mime_headers(headers, path, url)
        self.add_cache_headers(headers, path, url)
        return StaticFile(path, headers.items(), encodings={"gzip": str(copy)})

    def add_file_to_dictionary(self, url: str, path: str, stat_cache: Any = None) -> None:
        """Serve a file at its plain address, and at the one that pages link to."""
        super().add_file_to_dictionary(url, path, stat_cache)
        if url.startswith(self.static_prefix):
            address = f"{self._digest_prefix}{url.removeprefix(self.static_prefix)}"
            self.files[address] = self.get_static_file(path, address)

    @property
    def _digest_prefix(self) -> str:
        return f"{self.static_prefix}{tree_digest()}/"

    def add_cache_headers(self, headers: Headers, path: str, url: str) -> None:
        """How long a browser need not ask."""
        if url.startswith(self._digest_prefix):
            headers["Cache-Control"] = _FOR_EVER
        elif url.startswith(f"{self.static_prefix}vendor/"):
            headers["Cache-Control"] = f"max-age={_VENDOR_AGE_S}, public"
        else:
            super().add_cache_headers(headers, path, url)


def compress(path: Path, folder: Path) -> Path | None:
    """Return the compressed copy of a file as of now; ``None`` if it is not worth it."""
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
