"""Parse Cloudflare's ``ips-v4`` and ``ips-v6``: plain lists of the prefixes of an anycast edge.

Such an address gives no hint of where the origin server is.
"""

from datetime import date

from cartography.ranges.geofeed import contains_any_prefix, family_of, is_list, read_list
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "cloudflare"
SERVICE = "Cloudflare"
# Plain lists of two providers differ only in their prefixes; these have never been withdrawn.
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


def match_score(data: bytes) -> float:
    """Return 1 for a plain list with one of Cloudflare's oldest prefixes, else 0."""
    return is_list(data) and contains_any_prefix(data, _ANCHORS)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either list; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_list(data, PROVIDER, SERVICE)
    when = require_date(as_of)
    return RangeFile(PROVIDER, when, entries, count_entries(entries), family_of(entries))
