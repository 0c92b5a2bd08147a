"""Counts of a whole survey, and the rows behind ``names.csv``."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from analysis.deployment.cloud_names import EXISTS, Connection, Shards, count, fetch, open_names

_NAMES = """
WITH labels AS (SELECT name, string_agg(DISTINCT label, '|' ORDER BY label) AS patterns
                FROM labelled GROUP BY name),
regions AS (SELECT name, string_agg(DISTINCT region, '|' ORDER BY region) AS regions
            FROM places GROUP BY name),
clouds AS (SELECT name, string_agg(DISTINCT provider, '|' ORDER BY provider) AS providers
           FROM uses GROUP BY name),
brought AS (SELECT address, any_value(region) AS region, min(zone) AS zone FROM zones
            WHERE zone <> '' GROUP BY address HAVING count(DISTINCT (region, zone)) = 1),
zoned AS (
  SELECT name, string_agg(DISTINCT zone, '|' ORDER BY zone) AS zones FROM (
    SELECT name, CASE WHEN starts_with(zone, p.region) THEN zone
                      ELSE p.region || ' ' || zone END AS zone
    FROM placed p JOIN address_texts t USING (address)
    JOIN brought b ON b.address = t.text AND b.region = p.region
    WHERE kind = 'cloud')
  GROUP BY name)
SELECT n.text, d.text, class, clouds.providers, coalesce(patterns, ''), coalesce(regions, ''),
  coalesce(zones, '')
FROM cloud JOIN name_texts n USING (name) JOIN domain_texts d USING (domain)
JOIN clouds USING (name) LEFT JOIN labels USING (name) LEFT JOIN regions USING (name)
LEFT JOIN zoned USING (name)
ORDER BY d.text, n.text
"""
_COUNTERS = """
SELECT count(*), sum(asked), sum(nxdomain), sum(nodata), sum(wildcard_filtered), sum(queries),
  count(*) FILTER (wildcard), count(*) FILTER (transfer = 'OK')
FROM domains
"""
_FAILED = """
SELECT f.status, sum(f.count) FROM (SELECT unnest(failed) AS f FROM domains) GROUP BY 1 ORDER BY 1
"""
_TECHNIQUES = f"""
SELECT technique, count(DISTINCT name) FROM lookups WHERE {EXISTS} GROUP BY 1 ORDER BY 1
"""


def summarise(root: Path, survey: str, shards: Shards = None) -> dict[str, Any]:
    """Counts of names, domains, questions, techniques and misses of a survey.

    ``names``: asked, resolved, cloud, and failed by reason; ``misses``: names asked for that
    gave nothing without a failure. Per listed domain, asked = found + misses + failed.
    """
    with closing(open_names(root, survey, shards)) as connection:
        n, asked, nxdomain, nodata, filtered, queries, wild, open_zones = (
            int(value or 0) for value in fetch(connection, _COUNTERS)[0]
        )
        return {
            "names": {"asked": asked, **_names(connection)},
            "domains": {
                "asked": n,
                "cloud": count(connection, "SELECT count(DISTINCT domain) FROM uses"),
                "wildcard": wild,
                "transferred": open_zones,
            },
            "queries": queries,
            "wildcard_filtered": filtered,
            "techniques": dict(fetch(connection, _TECHNIQUES)),
            "misses": {"nxdomain": nxdomain, "nodata": nodata, "wildcard": filtered},
        }


def _names(connection: Connection) -> dict[str, Any]:
    found = f"SELECT count(DISTINCT name) FROM lookups WHERE {EXISTS}"
    return {
        "resolved": count(connection, found),
        "cloud": count(connection, "SELECT count(*) FROM cloud"),
        "failed": {status: int(n) for status, n in fetch(connection, _FAILED)},
    }


def names_rows(root: Path, survey: str, shards: Shards = None) -> Iterator[tuple[str, ...]]:
    """(name, domain, class, providers, patterns, regions, zones) of every cloud-using name.

    One row per name, by domain and name; several values are sorted and joined by ``|``.
    """
    with closing(open_names(root, survey, shards)) as connection:
        result = connection.execute(_NAMES)
        while batch := result.fetchmany(5_000):
            yield from batch
