"""Google's ``cloud.json`` (what customers rent, by region) and ``goog.json`` (all of Google).

The second holds Google's own services; as the first is more specific where both speak, a table
built from both gives "all of Google, minus the cloud" for what is left.
"""

from datetime import date, datetime
from typing import Any

from cartography.ranges.form import RangeEntry, RangeFile, check_prefix, count_entries
from cartography.ranges.form import list_of, load_json
from core.errors import BadInput
from core.statuses import AddressKind

PROVIDER = "google"
OWN_SERVICE = "Google"


def recognises(data: bytes) -> bool:
    """Whether the bytes look like one of this provider's files."""
    head = data[:4096]
    return b'"ipv4Prefix"' in head or b'"ipv6Prefix"' in head or b'"creationTime"' in head


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either file; raises ``BadInput``."""
    document = load_json(data)
    rows = list_of(document, "prefixes")
    entries = tuple(_entry(row, i) for i, row in enumerate(rows, 1))
    if not entries:
        raise BadInput("the file lists no prefix")
    variant = "cloud" if any(e.region for e in entries) else "goog"
    when = as_of or _date(document)
    return RangeFile(PROVIDER, when, entries, count_entries(entries), variant)


def _entry(row: Any, number: int) -> RangeEntry:
    where = f"entry {number}"
    if not isinstance(row, dict):
        raise BadInput(f"{where}: it is no object")
    scope = row.get("scope")
    # "global" names addresses that are announced everywhere: cloud, but of no region.
    region = scope if isinstance(scope, str) and scope != "global" else None
    return RangeEntry(
        prefix=check_prefix(row.get("ipv4Prefix") or row.get("ipv6Prefix"), where),
        provider=PROVIDER,
        service=str(row.get("service") or OWN_SERVICE),
        region=region,
        kind=AddressKind.CLOUD if scope else AddressKind.CORPORATE,
        region_as_published=scope,
    )


def _date(document: dict[str, Any]) -> date:
    text = str(document.get("creationTime", ""))
    try:
        return datetime.fromisoformat(text).date()
    except ValueError as error:
        raise BadInput(
            f"creationTime {text!r} is no date; give --as-of", field="creationTime"
        ) from error
