"""Parse Google's ``cloud.json`` (rented to customers, by region) and ``goog.json`` (all of Google).

The second includes Google's own services and has no regions. In a table built from both, the first
takes precedence; the rest of the second is Google's own.
"""

from datetime import date, datetime
from typing import Any

from cartography.ranges.range_file import (
    RangeEntry,
    RangeFile,
    check_prefix,
    count_entries,
    list_of,
    load_json,
    require_entries,
    text_of,
)
from core.errors import BadInput
from core.statuses import AddressKind

PROVIDER = "google"
OWN_SERVICE = "Google"
# Addresses that are announced everywhere: rented out, but of no region.
_GLOBAL = "global"
_HOURS_WEST = (0, 7, 8)
# The time has more digits than the token, and is cut off instead of rounded.
_MILLISECONDS_APART = 2


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of one of this provider's files, else 0."""
    head = data[:4096]
    return b'"ipv4Prefix"' in head or b'"ipv6Prefix"' in head or b'"creationTime"' in head


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either file; raises ``BadInput``."""
    document = load_json(data)
    rows = list_of(document, "prefixes")
    entries = require_entries(tuple(_entry(row, i) for i, row in enumerate(rows, 1)))
    variant = "cloud" if any(e.kind == AddressKind.CLOUD for e in entries) else "goog"
    when = as_of or _date(document)
    counts, edition = count_entries(entries), str(document.get("syncToken", ""))
    return RangeFile(PROVIDER, when, entries, counts, variant, edition, _doubt(document))


def _entry(row: Any, number: int) -> RangeEntry:
    where = f"entry {number}"
    if not isinstance(row, dict):
        raise BadInput(f"{where}: it is not an object")
    family = 6 if "ipv6Prefix" in row else 4
    scope = text_of(row, "scope", where)
    return RangeEntry(
        prefix=check_prefix(row.get(f"ipv{family}Prefix"), where, family),
        provider=PROVIDER,
        service=text_of(row, "service", where) or OWN_SERVICE,
        region=None if scope == _GLOBAL else scope,
        kind=AddressKind.CLOUD if scope else AddressKind.CORPORATE,
        region_as_published=scope,
    )


def _doubt(document: dict[str, Any]) -> str:
    """The token counts milliseconds of the creation time, in California's time or in UTC."""
    token, created = str(document.get("syncToken", "")), str(document.get("creationTime", ""))
    try:
        hours = (int(token) / 1000 - datetime.fromisoformat(created + "+00:00").timestamp()) / 3600
    except ValueError:
        return ""
    is_one = min(abs(hours - known) for known in _HOURS_WEST) < _MILLISECONDS_APART / 3.6e6
    return "" if is_one else f"creationTime is {created}, and syncToken {token} is another time"


def _date(document: dict[str, Any]) -> date:
    text = str(document.get("creationTime", ""))
    try:
        return datetime.fromisoformat(text).date()
    except ValueError as error:
        raise BadInput(f"{text!r} is not a date; give --as-of", field="creationTime") from error
