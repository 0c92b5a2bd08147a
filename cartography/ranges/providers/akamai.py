"""Parse Akamai's origin access lists: the addresses of its edge, one list for each family.

Akamai publishes them only to its customers: they are imported from files and never fetched. The
file of its compute regions, formerly Linode's, is ``cartography.ranges.providers.linode``'s.
"""

from datetime import date

from cartography.ranges.geofeed import family_of, is_list, read_list
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "akamai"
SERVICE = "Akamai"


def match_score(data: bytes) -> float:
    """Return 0.5 for any plain list: nothing in it names Akamai."""
    return 0.5 * is_list(data)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either list; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_list(data, PROVIDER, SERVICE)
    when = require_date(as_of)
    return RangeFile(PROVIDER, when, entries, count_entries(entries), family_of(entries))
