"""DigitalOcean's geofeed: prefix, country and city of each block.

It tells the city, not which of a city's data centres: a region here is the metropolitan part of
DigitalOcean's own codes (``nyc`` for nyc1 to nyc3).
"""

from datetime import date

from cartography.ranges.geofeed import Feed, is_feed, read_feed
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "digitalocean"
URLS = ("https://digitalocean.com/geo/google.csv",)
_FEED = Feed(
    PROVIDER,
    "DigitalOcean",
    {
        ("US", "New York"): "nyc",
        ("US", "North Bergen"): "nyc",
        ("US", "Clifton"): "nyc",
        ("US", "Secaucus"): "nyc",
        ("US", "Edison"): "nyc",
        ("US", "San Francisco"): "sfo",
        ("US", "Santa Clara"): "sfo",
        ("US", "Atlanta"): "atl",
        ("US", "Douglasville"): "atl",
        ("US", "Richmond"): "ric",
        ("NL", "Amsterdam"): "ams",
        ("SG", "Singapore"): "sgp",
        ("GB", "London"): "lon",
        ("GB", "Slough"): "lon",
        ("DE", "Frankfurt"): "fra",
        ("CA", "Toronto"): "tor",
        ("IN", "Bangalore"): "blr",
        ("IN", "Bengaluru"): "blr",
        ("AU", "Sydney"): "syd",
    },
)


def recognises(data: bytes) -> bool:
    """Whether the bytes look like a geofeed without a header."""
    return is_feed(data) and not data.startswith(b"#")


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_feed(data, _FEED)
    return RangeFile(PROVIDER, require_date(as_of), entries, count_entries(entries))
