"""Range tables: import, which are in force, and the compiled prefix table."""

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from cartography.prefixes import PrefixTable
from cartography.ranges import RangeFile, read_ranges
from core.errors import BadInput, MissingData
from core.records import Placement
from webapp.store.models import RangeTable

IMPORT_HINT = "import one with: manage.py ranges import PROVIDER FILE"


def read_with_date(
    provider: str, data: bytes, file_name: str = "", as_of: date | None = None
) -> RangeFile:
    """Read a file that may carry no date: then its name says it, else today is taken."""
    try:
        return read_ranges(provider, data, as_of)
    except BadInput as error:
        if error.field != "as-of" or as_of is not None:
            raise
    return read_ranges(provider, data, date_in_name(file_name) or timezone.now().date())


def date_in_name(file_name: str) -> date | None:
    """The date in names such as ``ServiceTags_Public_20240624.json``."""
    found = re.search(r"(20\d\d)[-_]?(\d\d)[-_]?(\d\d)", file_name)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def import_ranges(
    provider: str,
    data: bytes,
    *,
    as_of: date | None = None,
    origin: str = "",
    file_name: str = "",
) -> tuple[RangeTable, RangeFile]:
    """Check ``data`` and put it beside the older versions; raises ``BadInput``.

    The same file twice is one row. Nothing is written unless the whole file is sound, so the
    table in force stays in force on any doubt.
    """
    parsed = read_with_date(provider, data, file_name, as_of)
    digest = hashlib.sha256(data).hexdigest()
    path = raw_path(provider, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(data)
        temporary.replace(path)
    row, _ = RangeTable.objects.get_or_create(
        provider=provider,
        sha256=digest,
        as_of=parsed.as_of,
        origin=origin,
        defaults={
            "file_name": path.name,
            "counts": dict(parsed.counts),
            "variant": getattr(parsed, "variant", ""),
        },
    )
    return row, parsed


def raw_path(provider: str, digest: str) -> Path:
    """Where the raw file of a table is kept."""
    return Path(settings.RANGES_DIR) / provider / f"{digest[:24]}.raw"


def tables_in_force(origin: str = "", as_of: date | None = None) -> list[RangeTable]:
    """The newest table of each provider and variant, not newer than ``as_of``.

    An emulated world's own tables win over real files as a whole; a world that was built on
    real files has none of its own. Raises ``MissingData`` when there is no table at all.
    """
    chosen = _newest(origin, as_of)
    if not chosen and origin:
        chosen = _newest("", as_of)
    if not chosen:
        when = f" as of {as_of}" if as_of else ""
        raise MissingData(f"there is no range table{when}; {IMPORT_HINT}")
    return chosen


def _newest(origin: str, as_of: date | None) -> list[RangeTable]:
    rows = RangeTable.objects.filter(origin=origin)
    if as_of:
        rows = rows.filter(as_of__lte=as_of)
    newest: dict[tuple[str, str], RangeTable] = {}
    for row in rows.order_by("as_of", "imported_at", "id"):
        newest[(row.provider, row.variant)] = row
    return [newest[key] for key in sorted(newest)]


def prefix_table(rows: Sequence[RangeTable]) -> PrefixTable:
    """The compiled table of these files; compiled once per process."""
    return _compile(tuple((r.provider, r.sha256, r.as_of) for r in rows))


@lru_cache(maxsize=4)
def _compile(keys: tuple[tuple[str, str, date], ...]) -> PrefixTable:
    files = [
        read_ranges(provider, raw_path(provider, digest).read_bytes(), as_of)
        for provider, digest, as_of in keys
    ]
    return PrefixTable.build(files)


def lookup_row(address: str, placement: Placement) -> dict[str, Any]:
    """One line of ``ranges lookup``; an address that is none gets an ``error``."""
    row = {
        "address": address,
        "provider": placement.provider,
        "service": placement.service,
        "services": list(placement.services),
        "region": placement.region,
        "border_group": placement.border_group,
        "prefix": placement.prefix,
        "as_of": str(placement.as_of) if placement.as_of else None,
        "kind": str(placement.kind),
        "region_as_published": placement.region_as_published,
    }
    try:
        ipaddress.ip_address(address)
    except ValueError:
        row["error"] = "not an IP address"
    return row
