"""Parse IBM Cloud's list of public VPC addresses: a Markdown table of zones and their prefixes.

IBM publishes no machine-readable file; this is the source of a page of its documentation. It names
the zone, which becomes the border group.
"""

import re
from collections.abc import Iterator
from datetime import date

from cartography.ranges.geofeed import read_lines
from cartography.ranges.range_file import (
    RangeEntry,
    RangeFile,
    check_prefix,
    count_entries,
    require_date,
    require_entries,
)
from core.errors import BadInput

PROVIDER = "ibm"
SERVICE = "VPC"
_HEADER = ["geo", "availability zone", "data center", "prefixes"]
_ZONE = re.compile(r"[a-z]{2}-[a-z0-9]+-\d")
_UPDATED = re.compile(rb'^lastupdated: "?(\d{4}-\d\d-\d\d)', re.M)
# Prefixes of one cell are on separate lines, written in one of these ways.
_BREAK = re.compile(r"\\n|<br ?/?>|[\s,]+")


def match_score(data: bytes) -> float:
    """Return 1 for bytes in the form of the page, else 0."""
    return b"| Availability zone |" in data and b"| Prefixes |" in data


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the page; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = require_entries(tuple(_entries(data)))
    if b"{:" in data and not data.rstrip().endswith((b"}", b"</staging>")):
        raise BadInput("the last table has no end; is the file cut off?")
    updated = _date(data)
    edition = str(updated) if updated else ""
    when, counts = require_date(as_of or updated), count_entries(entries)
    return RangeFile(PROVIDER, when, entries, counts, edition=edition)


def _entries(data: bytes) -> Iterator[RangeEntry]:
    in_table = False
    for number, line in read_lines(data):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            in_table = False
        elif [cell.lower() for cell in cells] == _HEADER:
            in_table = True
        elif in_table and set(line) - set("|-: "):
            yield from _row(number, line, cells)


def _row(number: int, line: str, cells: list[str]) -> Iterator[RangeEntry]:
    where = f"line {number}"
    if len(cells) != len(_HEADER) or not line.endswith("|"):
        raise BadInput(f"{where}: the row is not whole; is the file cut off?")
    zone = cells[1]
    if not _ZONE.fullmatch(zone):
        raise BadInput(f"{where}: {zone!r} is not a zone such as us-south-1")
    for text in filter(None, _BREAK.split(cells[3])):
        yield RangeEntry(
            prefix=check_prefix(text, where),
            provider=PROVIDER,
            service=SERVICE,
            region=zone.rpartition("-")[0],
            border_group=zone,
            region_as_published=zone,
        )


def _date(data: bytes) -> date | None:
    found = _UPDATED.search(data[:4096])
    try:
        return date.fromisoformat(found[1].decode()) if found else None
    except ValueError:
        return None
