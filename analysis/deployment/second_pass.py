"""The second pass: the names to query again, and the results per vantage point."""

from contextlib import closing
from pathlib import Path
from typing import Any

from analysis.deployment.cloud_names import Shards, fetch, open_names
from lake.parts import open_views

_CLOUD = """
SELECT n.text, d.text FROM cloud JOIN name_texts n USING (name) JOIN domain_texts d USING (domain)
ORDER BY n.text
"""
_COUNTS = """
SELECT vantage, count(*), count(*) FILTER (len(answers) > 0) FROM vantage_lookups
GROUP BY vantage ORDER BY vantage
"""
_FAILED = """
SELECT vantage, status, count(*) FROM vantage_lookups
WHERE status NOT IN ('NOERROR', 'NODATA', 'NXDOMAIN') GROUP BY ALL ORDER BY ALL
"""
_NEW = """
WITH seen AS (SELECT vantage, name, unnest(answers) AS record FROM vantage_lookups)
SELECT vantage, count(DISTINCT seen.name)
FROM seen ANTI JOIN placements
  ON placements.name = seen.name AND placements.address = seen.record.data
WHERE seen.record.type IN ('A', 'AAAA') GROUP BY vantage
"""


def cloud_names(root: Path, survey: str, shards: Shards = None) -> list[tuple[str, str]]:
    """(name, domain) of every cloud-using name, by name."""
    with closing(open_names(root, survey, shards)) as connection:
        return [(name, domain) for name, domain in fetch(connection, _CLOUD)]


def count_vantages(root: Path, survey: str, shards: Shards = None) -> dict[str, Any]:
    """Per vantage: names asked, resolved, with an address not seen before, and failed by reason."""
    with closing(open_views(root, survey, shards)) as connection:
        found: dict[str, Any] = {
            vantage: {"asked": asked, "resolved": resolved, "new_addresses": 0, "failed": {}}
            for vantage, asked, resolved in fetch(connection, _COUNTS)
        }
        for vantage, names in fetch(connection, _NEW):
            found[vantage]["new_addresses"] = names
        for vantage, status, n in fetch(connection, _FAILED):
            found[vantage]["failed"][status] = n
        return found
