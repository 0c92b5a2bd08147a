"""Oracle's ``public_ip_ranges.json``: blocks by region, each with one tag or more.

OCI are customers' machines; OSN is Oracle's network of services, of which object storage is a part.
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

PROVIDER = "oracle"


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of this provider's file, else 0."""
    head = data[:4096]
    return b'"last_updated_timestamp"' in head or b'"cidrs"' in head


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``. A block counts once, however many tags it has."""
    document = load_json(data)
    regions = list_of(document, "regions")
    blocks = [b for i, region in enumerate(regions, 1) for b in _blocks(region, i)]
    entries = require_entries(tuple(entry for block in blocks for entry in block))
    counts = count_entries(block[0] for block in blocks)
    edition = str(document.get("last_updated_timestamp", ""))
    return RangeFile(PROVIDER, as_of or _date(document), entries, counts, edition=edition)


def _blocks(region: Any, number: int) -> list[list[RangeEntry]]:
    where = f"region {number}"
    name = text_of(region, "region", where) if isinstance(region, dict) else None
    if not name:
        raise BadInput(f"{where}: no name is given")
    rows = list_of(region, "cidrs", f"{where} ({name})")
    return [_block(row, name, f"region {name}, entry {i}") for i, row in enumerate(rows, 1)]


def _block(row: Any, region: str, where: str) -> list[RangeEntry]:
    if not isinstance(row, dict):
        raise BadInput(f"{where}: it is not an object")
    prefix = check_prefix(row.get("cidr"), where)
    tags = list_of(row, "tags", where)
    if not tags or not all(isinstance(tag, str) and tag for tag in tags):
        raise BadInput(f"{where}: no tag is given")
    return [RangeEntry(prefix, PROVIDER, tag, region, region_as_published=region) for tag in tags]


def _date(document: dict[str, Any]) -> date:
    text = str(document.get("last_updated_timestamp", ""))
    try:
        return datetime.fromisoformat(text).date()
    except ValueError as error:
        raise BadInput(
            f"{text!r} is not a date; give --as-of", field="last_updated_timestamp"
        ) from error
