"""Parse Fastly's ``public-ip-list``: the prefixes of an anycast edge."""

from datetime import date

from cartography.ranges.range_file import (
    RangeEntry,
    RangeFile,
    check_prefix,
    count_entries,
    list_of,
    load_json,
    require_date,
    require_entries,
)
from core.statuses import AddressKind

PROVIDER = "fastly"
SERVICE = "Fastly"
_LISTS = ((4, "addresses"), (6, "ipv6_addresses"))


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of this provider's file, else 0."""
    return b'"addresses"' in data[:4096] and b'"ip' in data


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    document = load_json(data)
    entries = require_entries(
        tuple(
            RangeEntry(
                prefix=check_prefix(text, f"IPv{family} entry {number}", family),
                provider=PROVIDER,
                service=SERVICE,
                region=None,
                kind=AddressKind.CDN,
            )
            for family, name in _LISTS
            for number, text in enumerate(list_of(document, name), 1)
        )
    )
    return RangeFile(PROVIDER, require_date(as_of), entries, count_entries(entries))
