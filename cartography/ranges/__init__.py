"""Provider range files: one module per provider, one silhouette, one way in.

Each module has ``PROVIDER``, ``URLS`` (where the files are published), ``recognises(data)`` and
``parse(data, as_of)``; see ``cartography/README.md`` for adding one.
"""

from codecs import BOM_UTF8
from datetime import date
from typing import Protocol

from cartography.gc_pause import many_rows
from cartography.ranges.gzip_file import MAX_FILE_BYTES, unpack
from cartography.ranges.providers import (
    akamai,
    aws,
    azure,
    cloudflare,
    digitalocean,
    fastly,
    google,
    ibm,
    linode,
    oracle,
)
from cartography.ranges.range_file import RangeEntry, RangeFile, forget_prefixes
from core.errors import BadInput


class Reader(Protocol):
    """The silhouette of a provider's module; ``data`` is unpacked already."""

    @property
    def PROVIDER(self) -> str: ...  # noqa: N802

    @property
    def URLS(self) -> tuple[str, ...]: ...  # noqa: N802

    def recognises(self, data: bytes) -> bool:
        """Whether the bytes look like one of this provider's files, sound or not."""

    def parse(self, data: bytes, as_of: date | None) -> RangeFile:
        """Read the file; raises ``BadInput``."""


READERS: tuple[Reader, ...] = (
    aws,
    azure,
    google,
    oracle,
    digitalocean,
    linode,
    cloudflare,
    fastly,
    akamai,
    ibm,
)
_BY_PROVIDER = {reader.PROVIDER: reader for reader in READERS}

__all__ = [
    "MAX_FILE_BYTES",
    "READERS",
    "RangeEntry",
    "RangeFile",
    "Reader",
    "guess_provider",
    "read_ranges",
    "reader_of",
]


def read_ranges(provider: str, data: bytes, as_of: date | None = None) -> RangeFile:
    """Read one provider's file (plain or gzip); ``as_of`` overrides the file's own date.

    Raises ``BadInput`` on any doubt: unknown or other provider, damaged or truncated file, an
    entry that is no prefix, a file without a date when none is given.
    """
    reader = reader_of(provider)
    plain = unpack(data).removeprefix(BOM_UTF8)
    if not plain.strip():
        raise BadInput("the range file is empty")
    if not reader.recognises(plain):
        other = guess_provider(plain)
        looks = f"; it looks like a file of {other}" if other and other != provider else ""
        raise BadInput(f"this is no {provider} range file{looks}")
    try:
        with many_rows():
            return reader.parse(plain, as_of)
    finally:
        forget_prefixes()


def reader_of(provider: str) -> Reader:
    """The module of a provider; raises ``BadInput`` that names all of them."""
    reader = _BY_PROVIDER.get(provider)
    if reader is None:
        raise BadInput(
            f"{provider!r} is no provider with range files; use one of {', '.join(_BY_PROVIDER)}",
            field="provider",
        )
    return reader


def guess_provider(data: bytes) -> str | None:
    """Whose file this looks like (plain or gzip); raises ``BadInput`` for a damaged gzip."""
    plain = unpack(data).removeprefix(BOM_UTF8)
    return next((r.PROVIDER for r in READERS if r.recognises(plain)), None)
