"""Compiled tables of stored range files: mapped from the data folder, and compiled at first need.

A file's name is the digest of what it was compiled from, so that it is never out of date.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from django.conf import settings

from cartography.addresses.table_file import FORMAT
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.geolocation.files import read_places
from cartography.geolocation.tables import PlaceTable
from cartography.placement.cloud_table import PrefixTable
from cartography.ranges import read_ranges
from core.errors import BadInput, MissingData
from webapp.store.models import RangeTable
from webapp.store.object_storage import files

log = logging.getLogger(__name__)

# Smaller tables are compiled in less time than a file takes to be mapped.
_WORTH_WRITING = 5_000
# Each takes some ten megabytes.
_KEPT_FILES = 40
_Key = tuple[str, str, date]


class _Table(Protocol):
    def write(self, path: Path) -> str: ...


T = TypeVar("T", bound=_Table)


def prefix_table(rows: Sequence[RangeTable]) -> PrefixTable:
    """The compiled table of these files; opened once per process."""
    n_entries = sum(row.counts.get("entries", 0) for row in rows)
    keys = tuple((row.provider, row.sha256, row.as_of) for row in rows)
    return _prefix_table(keys, n_entries)


@lru_cache(maxsize=4)
def _prefix_table(keys: tuple[_Key, ...], n_entries: int) -> PrefixTable:
    def build() -> PrefixTable:
        files = [read_ranges(provider, _raw(provider, sha), day) for provider, sha, day in keys]
        return PrefixTable.build(files)

    if n_entries < _WORTH_WRITING:
        return build()
    return _mapped("cloud", keys, PrefixTable.open, build)


def origin_table_of(row: RangeTable) -> OriginTable:
    """The compiled table of one route file; opened once per process."""
    return _origin_table((row.provider, row.sha256, row.as_of))


@lru_cache(maxsize=2)
def _origin_table(key: _Key) -> OriginTable:
    def build() -> OriginTable:
        return OriginTable.build(read_origins(_raw(key[0], key[1])))

    return _mapped("origins", (key,), OriginTable.open, build)


def place_table_of(row: RangeTable) -> PlaceTable:
    """The compiled table of the places of addresses; opened once per process."""
    return _place_table((row.provider, row.sha256, row.as_of))


@lru_cache(maxsize=2)
def _place_table(key: _Key) -> PlaceTable:
    def build() -> PlaceTable:
        return PlaceTable.build(read_places(_raw(key[0], key[1])))

    return _mapped("places", (key,), PlaceTable.open, build)


def _raw(provider: str, sha256: str) -> bytes:
    path = Path(settings.RANGES_DIR) / provider / f"{sha256[:24]}.raw"
    files.fetch(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingData(f"the file {path.name} of {provider} is gone; import it again") from error


def _mapped(
    kind: str, keys: Sequence[_Key], open_table: Callable[[Path], T], build: Callable[[], T]
) -> T:
    digest = hashlib.sha256(repr((FORMAT, keys)).encode()).hexdigest()
    folder = Path(settings.RANGES_DIR) / "compiled"
    path = folder / f"{kind}-{digest[:24]}.map"
    try:
        return open_table(path)
    except FileNotFoundError:
        pass
    except (OSError, BadInput) as error:
        log.warning("a compiled table is built again: %s", error)
    table = build()
    try:
        table.write(path)
        _prune(folder)
    except OSError as error:  # a full or read-only disk costs time, not the answer
        log.warning("a compiled table could not be kept: %s", error)
        return table
    return open_table(path)


def _prune(folder: Path) -> None:
    files = sorted(folder.glob("*.map"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_KEPT_FILES:]:
        path.unlink(missing_ok=True)
