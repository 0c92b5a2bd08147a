"""Counts of a whole survey, and the rows behind ``names.csv``."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.base import count, fetch, open_base

_NAMES = """
WITH labels AS (SELECT domain, name, string_agg(DISTINCT label, '|' ORDER BY label) AS patterns
                FROM fronts GROUP BY ALL),
regions AS (SELECT domain, name, string_agg(DISTINCT region, '|' ORDER BY region) AS regions
            FROM places GROUP BY ALL)
SELECT c.name, c.domain, c.class, replace(c.providers, ' + ', '|'), coalesce(l.patterns, ''),
       coalesce(r.regions, ''), ''
FROM cloud c LEFT JOIN labels l USING (domain, name) LEFT JOIN regions r USING (domain, name)
ORDER BY c.domain, c.name
"""
_FAILED = """
SELECT f.status, sum(f.count) FROM (SELECT unnest(failed) AS f FROM domains) GROUP BY 1 ORDER BY 1
"""
_TECHNIQUES = """
SELECT technique, count(*) FROM (
  SELECT DISTINCT domain, name, technique FROM lookups
  WHERE type IN ('A', 'AAAA') AND (technique <> 'listed' OR name = domain) AND len(answers) > 0)
GROUP BY 1 ORDER BY 1
"""


def summarise(root: Path, campaign: str, shards: Iterable[str] | None = None) -> dict[str, Any]:
    """Names asked, resolved, in a cloud and failed by reason; domains, queries, techniques."""
    connection = open_base(root, campaign, shards)
    try:
        asked, queries, filtered, wild = fetch(
            connection,
            "SELECT sum(asked), sum(queries), sum(wildcard_filtered), count(*) FILTER (wildcard) "
            "FROM domains",
        )[0]
        failed = {status: int(n) for status, n in fetch(connection, _FAILED)}
        return {
            "names": {
                "asked": int(asked or 0),
                "resolved": count(connection, "SELECT count(*) FROM names"),
                "cloud": count(connection, "SELECT count(*) FROM cloud"),
                "failed": failed,
            },
            "domains": {
                "asked": count(connection, "SELECT count(*) FROM domains"),
                "cloud": count(connection, "SELECT count(DISTINCT domain) FROM cloud"),
                "wildcard": int(wild or 0),
                "transferred": count(
                    connection, "SELECT count(*) FROM domains WHERE transfer = 'OK'"
                ),
            },
            "queries": int(queries or 0),
            "wildcard_filtered": int(filtered or 0),
            "techniques": dict(fetch(connection, _TECHNIQUES)),
        }
    finally:
        connection.close()


def names_rows(
    root: Path, campaign: str, shards: Iterable[str] | None = None
) -> Iterator[tuple[str, ...]]:
    """(name, domain, class, providers, patterns, regions, zones) of every cloud-using name."""
    connection = open_base(root, campaign, shards)
    try:
        result = connection.execute(_NAMES)
        while batch := result.fetchmany(5_000):
            yield from batch
    finally:
        connection.close()
