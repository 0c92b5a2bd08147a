"""Parse Amazon's ``ip-ranges.json``.

Most blocks are listed twice, as AMAZON and under the service that uses them; both rows are kept
and the prefix table shows the specific one.
"""

from datetime import UTC, date, datetime
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

PROVIDER = "aws"
# CloudFront's own network: an address there gives the location of the client's edge, not of the
# origin. Global Accelerator is anycast too, but what answers behind it is the customer's own
# machine.
_EDGE = {"CLOUDFRONT", "CLOUDFRONT_ORIGIN_FACING"}
_GLOBAL = "GLOBAL"
# Until 2017 the token could be days away from the date; since then both are one second.
_TOKEN_SINCE = "2018"
_TOKEN_DIGITS = 11
_FORMAT = "%Y-%m-%d-%H-%M-%S"


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of this provider's file, else 0."""
    head = data[:4096]
    return b'"ip_prefix"' in head or b'"createDate"' in head


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``. Files before 2016 list no IPv6."""
    document = load_json(data)
    entries = [_entry(row, i, 4) for i, row in enumerate(list_of(document, "prefixes"), 1)]
    if "ipv6_prefixes" in document:
        rows = list_of(document, "ipv6_prefixes")
        entries += [_entry(row, i, 6) for i, row in enumerate(rows, 1)]
    kept = require_entries(tuple(entries))
    return RangeFile(
        PROVIDER,
        as_of or _date(document),
        kept,
        count_entries(kept),
        edition=str(document.get("syncToken") or document.get("createDate") or ""),
        doubt=_doubt(document),
    )


def _entry(row: Any, number: int, family: int) -> RangeEntry:
    where = f"IPv{family} entry {number}"
    if not isinstance(row, dict):
        raise BadInput(f"{where}: it is not an object")
    service, region = text_of(row, "service", where), text_of(row, "region", where)
    if not service or not region:
        raise BadInput(f"{where}: no {'region' if service else 'service'} is given")
    return RangeEntry(
        prefix=check_prefix(row.get("ip_prefix" if family == 4 else "ipv6_prefix"), where, family),
        provider=PROVIDER,
        service=service,
        region=None if region == _GLOBAL else region,
        border_group=text_of(row, "network_border_group", where),
        kind=AddressKind.CDN if service in _EDGE else AddressKind.CLOUD,
        region_as_published=region,
    )


def _doubt(document: dict[str, Any]) -> str:
    token, created = str(document.get("syncToken", "")), str(document.get("createDate", ""))
    if created < _TOKEN_SINCE or not token.isdigit() or len(token) > _TOKEN_DIGITS:
        return ""
    meant = datetime.fromtimestamp(int(token), UTC).strftime(_FORMAT)
    return f"createDate is {created}, and syncToken says {meant}" if meant != created else ""


def _date(document: dict[str, Any]) -> date:
    text = str(document.get("createDate", ""))
    try:
        return datetime.strptime(text, _FORMAT).date()  # noqa: DTZ007
    except ValueError as error:
        raise BadInput(f"{text!r} is not a date; give --as-of", field="createDate") from error
