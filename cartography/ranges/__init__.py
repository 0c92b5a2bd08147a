"""Provider range files: parse the published file of any provider into a ``RangeFile``.

The module of a provider is ``providers/<id>.py`` and has the attributes of ``Reader``; how to add
one is in ``docs/how-to/add-a-provider.md``.
"""

from codecs import BOM_UTF8
from datetime import date
from importlib import import_module
from typing import Protocol, cast

from cartography.gc_pause import many_rows
from cartography.ranges.gzip_file import MAX_FILE_BYTES, unpack
from cartography.ranges.range_file import RangeEntry, RangeFile, clear_prefix_cache
from core.errors import BadInput
from core.providers import PROVIDERS


class Reader(Protocol):
    """What the module of a provider defines; ``data`` is uncompressed, without a byte-order mark.

    A provider with web pages as ``range_urls`` also has ``locate(page, url)``, which returns the
    URL of the file that a page links to.
    """

    @property
    def PROVIDER(self) -> str: ...  # noqa: N802

    def match_score(self, data: bytes) -> float:
        """Return how well bytes fit this provider's files, sound or damaged: 0 (no) to 1."""

    def parse(self, data: bytes, as_of: date | None) -> RangeFile:
        """Parse the file; raise ``BadInput``."""


READERS = tuple(cast(Reader, import_module(f"{__name__}.providers.{key}")) for key in PROVIDERS)
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

    Raise ``BadInput`` on any doubt: unknown or other provider, damaged or truncated file, an
    entry that is not a prefix, a file without a date when none is given.
    """
    reader = reader_of(provider)
    plain = unpack(data).removeprefix(BOM_UTF8)
    if not plain.strip():
        raise BadInput("the range file is empty")
    candidates = _candidates(plain)
    if provider not in candidates:
        looks = f"; it looks like a file of {' or '.join(candidates)}" if candidates else ""
        raise BadInput(f"this is no {provider} range file{looks}")
    try:
        with many_rows():
            return reader.parse(plain, as_of)
    finally:
        clear_prefix_cache()


def reader_of(provider: str) -> Reader:
    """Return the module of a provider; raise ``BadInput`` that names all of them."""
    reader = _BY_PROVIDER.get(provider)
    if reader is None:
        raise BadInput(
            f"{provider!r} has no range files; use one of {', '.join(_BY_PROVIDER)}",
            field="provider",
        )
    return reader


def guess_provider(data: bytes) -> str | None:
    """Return the only provider that a file (plain or gzip) fits best, ``None`` for a tie or none.

    Raise ``BadInput`` for a damaged gzip.
    """
    candidates = _candidates(unpack(data).removeprefix(BOM_UTF8))
    return candidates[0] if len(candidates) == 1 else None


def _candidates(plain: bytes) -> list[str]:
    """Return the providers with the highest score above 0, in the order of ``PROVIDERS``."""
    scores = {reader.PROVIDER: reader.match_score(plain) for reader in READERS}
    best = max(scores.values())
    return [provider for provider, score in scores.items() if score == best > 0]
