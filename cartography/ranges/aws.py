"""Amazon's ``ip-ranges.json``.

Most EC2 blocks stand in it twice, as AMAZON and as EC2; both rows are kept and the prefix table
shows the specific one.
"""

from datetime import date, datetime
from typing import Any

from cartography.ranges.form import RangeEntry, RangeFile, check_prefix, count_entries
from cartography.ranges.form import list_of, load_json
from core.errors import BadInput
from core.statuses import AddressKind

PROVIDER = "aws"
# Edge networks: the address says where the client is, not where the origin is.
_EDGE = {"CLOUDFRONT", "CLOUDFRONT_ORIGIN_FACING"}


def recognises(data: bytes) -> bool:
    """Whether the bytes look like this provider's file."""
    head = data[:4096]
    return b'"ip_prefix"' in head or b'"createDate"' in head


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``."""
    document = load_json(data)
    rows = [("ip_prefix", row) for row in list_of(document, "prefixes")]
    if "ipv6_prefixes" in document:
        rows += [("ipv6_prefix", row) for row in list_of(document, "ipv6_prefixes")]
    entries = tuple(_entry(key, row, i) for i, (key, row) in enumerate(rows, 1))
    if not entries:
        raise BadInput("the file lists no prefix")
    return RangeFile(PROVIDER, as_of or _date(document), entries, count_entries(entries))


def _entry(key: str, row: Any, number: int) -> RangeEntry:
    where = f"entry {number}"
    if not isinstance(row, dict) or not isinstance(row.get("service"), str):
        raise BadInput(f"{where}: no service is given")
    region = row.get("region")
    if not isinstance(region, str):
        raise BadInput(f"{where}: no region is given")
    service = row["service"]
    return RangeEntry(
        prefix=check_prefix(row.get(key), where),
        provider=PROVIDER,
        service=service,
        region=None if region == "GLOBAL" else region,
        border_group=row.get("network_border_group"),
        kind=AddressKind.CDN if service in _EDGE else AddressKind.CLOUD,
        region_as_published=region,
    )


def _date(document: dict[str, Any]) -> date:
    text = str(document.get("createDate", ""))
    try:
        return datetime.strptime(text, "%Y-%m-%d-%H-%M-%S").date()  # noqa: DTZ007
    except ValueError as error:
        raise BadInput(f"createDate {text!r} is no date; give --as-of", field="createDate") from error
