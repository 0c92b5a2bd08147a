"""Parse DigitalOcean's geofeed: prefix, country and city of each block.

The feed names the city, not which data centre of the city: a region here is the metropolitan part
of DigitalOcean's codes (``nyc`` for nyc1 to nyc3).
"""

from datetime import date

from cartography.ranges.geofeed import Feed, read_feed, score_feed
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "digitalocean"
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


def match_score(data: bytes) -> float:
    """Return how well a geofeed fits DigitalOcean's cities, 0 for another format."""
    return score_feed(data, _FEED)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_feed(data, _FEED)
    return RangeFile(PROVIDER, require_date(as_of), entries, count_entries(entries))
