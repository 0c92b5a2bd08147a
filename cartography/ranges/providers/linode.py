"""Parse the geofeed of Linode (now Akamai): prefix, country and city of each block.

The feed names the city, not which data centre of the city: the region is that of the oldest one.
"""

import re
from datetime import date

from cartography.ranges.geofeed import Feed, read_feed, score_feed
from cartography.ranges.range_file import RangeFile, count_entries, require_date

PROVIDER = "linode"
_MODIFIED = re.compile(rb"^# Last modified: ((\d{4}-\d\d-\d\d).*)$", re.M)
_FEED = Feed(
    PROVIDER,
    "Linode",
    {
        ("US", "Cedar Knolls"): "us-east",
        ("US", "Newark"): "us-east",
        ("US", "Richardson"): "us-central",
        ("US", "Dallas"): "us-central",
        ("US", "Fremont"): "us-west",
        ("US", "Atlanta"): "us-southeast",
        ("US", "Chicago"): "us-ord",
        ("US", "Ashburn"): "us-iad",
        ("US", "Washington"): "us-iad",
        ("US", "Tukwila"): "us-sea",
        ("US", "Seattle"): "us-sea",
        ("US", "Miami"): "us-mia",
        ("US", "Los Angeles"): "us-lax",
        ("US", "Denver"): "us-den-1",
        ("US", "Houston"): "us-hou-1",
        ("CA", "Toronto"): "ca-central",
        ("MX", "Querétaro"): "mx-qro-1",
        ("MX", "Queretaro"): "mx-qro-1",
        ("CO", "Bogotá"): "co-bog-1",
        ("CO", "Bogota"): "co-bog-1",
        ("CL", "Santiago"): "cl-scl-1",
        ("BR", "Sao Paulo"): "br-gru",
        ("GB", "London"): "eu-west",
        ("DE", "Frankfurt"): "eu-central",
        ("DE", "Berlin"): "de-ber-1",
        ("DE", "Hamburg"): "de-ham-1",
        ("FR", "Paris"): "fr-par",
        ("FR", "Marseille"): "fr-mrs-1",
        ("NL", "Amsterdam"): "nl-ams",
        ("NO", "Oslo"): "no-osl-1",
        ("SE", "Stockholm"): "se-sto",
        ("IT", "Milan"): "it-mil",
        ("ES", "Madrid"): "es-mad",
        ("ZA", "Johannesburg"): "za-jnb-1",
        ("SG", "Singapore"): "ap-south",
        ("JP", "Tokyo"): "ap-northeast",
        ("JP", "Osaka"): "jp-osa",
        ("IN", "Mumbai"): "ap-west",
        ("IN", "Chennai"): "in-maa",
        ("AU", "Sydney"): "ap-southeast",
        ("AU", "Melbourne"): "au-mel",
        ("NZ", "Auckland"): "nz-akl-1",
        ("ID", "Jakarta"): "id-cgk",
        ("MY", "Kuala Lumpur"): "my-kul-1",
    },
)


def match_score(data: bytes) -> float:
    """Return how well a geofeed fits Linode's cities, 0 for another format."""
    return score_feed(data, _FEED)


def parse(data: bytes, as_of: date | None) -> RangeFile:
    """Read the file; raises ``BadInput``, with ``field`` as-of where a date is missing."""
    entries = read_feed(data, _FEED)
    when, counts = require_date(as_of or _date(data)), count_entries(entries)
    return RangeFile(PROVIDER, when, entries, counts, edition=_edition(data))


def _edition(data: bytes) -> str:
    found = _MODIFIED.search(data[:4096])
    return found[1].decode("ascii", "replace").strip() if found else ""


def _date(data: bytes) -> date | None:
    found = _MODIFIED.search(data[:4096])
    try:
        return date.fromisoformat(found[2].decode()) if found else None
    except ValueError:
        return None
