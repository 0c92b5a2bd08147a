"""Akamai's lists of its edge addresses, one for each family, as origins let them in.

Akamai publishes them to its customers only, so that nothing is fetched: they come by file. Its
compute regions, once Linode's, have a file of their own: ``cartography.ranges.providers.linode``.
"""

from datetime import date

from cartography.ranges.geofeed import family_of, is_list, read_list
from cartography.ranges.providers import cloudflare
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "akamai"
URLS: tuple[str, ...] = ()
SERVICE = "Akamai"


def recognises(data: bytes) -> bool:
    """Whether the bytes look like a plain list that is nobody else's."""
    return is_list(data) and not cloudflare.recognises(data)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read either list; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_list(data, PROVIDER, SERVICE)
    when = require_date(as_of)
    return RangeFile(PROVIDER, when, entries, count_entries(entries), family_of(entries))
