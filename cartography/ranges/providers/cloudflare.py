"""Cloudflare's ``ips-v4`` and ``ips-v6``: plain lists of an edge network that stands everywhere.

An address there says where the client is; the origin behind it is not told.
"""

from datetime import date

from cartography.ranges.geofeed import family_of, holds_any, is_list, read_list
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "cloudflare"
URLS = ("https://www.cloudflare.com/ips-v4", "https://www.cloudflare.com/ips-v6")
SERVICE = "Cloudflare"
# Lists of two providers look alike but for what stands in them.
_ANCHORS = (
    b"173.245.48.0/20",
    b"103.21.244.0/22",
    b"141.101.64.0/18",
    b"104.16.0.0/13",
    b"104.16.0.0/12",
    b"162.158.0.0/15",
    b"2400:cb00::/32",
    b"2606:4700::/32",
    b"2803:f800::/32",
)


def recognises(data: bytes) -> bool:
    """Whether the bytes look like one of this provider's lists."""
    return is_list(data) and holds_any(data, _ANCHORS)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either list; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_list(data, PROVIDER, SERVICE)
    when = require_date(as_of)
    return RangeFile(PROVIDER, when, entries, count_entries(entries), family_of(entries))
