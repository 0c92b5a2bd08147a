"""IMC'13 Tables 12 and 13, Figure 13: availability zones used by names.

Zones are imported; an address without one counts as unknown.
"""

from collections import defaultdict

from analysis.deployment.cloud_names import Connection, count, fetch, population
from analysis.deployment.regions import EDGE, mean_table
from core.providers import PROVIDERS
from core.report_tables import SPEC_BY_ID, TOP_EC2_DOMAINS, Cell, Table, cumulate, share

UNKNOWN = "unknown"
# Rows of ``region_locations`` are distinct, so those of a name count its zones.
# Without imported zones, only Amazon's regions are known to have them.
_ZONED = (
    "(SELECT 'aws' AS provider UNION SELECT DISTINCT provider FROM region_locations "
    "WHERE zone <> '')"
)
_ZONES = f"""
WITH single_zones AS (
  SELECT any_value(location_id) AS location_id FROM region_locations GROUP BY n
    HAVING count(*) = 1 AND count(zone) = 1),
zoned AS (FROM locations SEMI JOIN {_ZONED} USING (provider) WHERE region IS NOT NULL),
name_regions AS (SELECT location_id, count(*) AS names FROM region_locations GROUP BY location_id),
single_counts AS (SELECT location_id, count(*) AS only_here FROM single_zones GROUP BY location_id),
instances AS (SELECT location_id, count(*) AS instances FROM address_locations
  WHERE fronts GROUP BY location_id),
reached AS (
  SELECT location_id, count(*) AS domains
  FROM (SELECT DISTINCT d, location_id FROM region_locations SEMI JOIN zoned
    USING (location_id) JOIN domain_names USING (n))
  GROUP BY location_id),
counted AS (
  SELECT z.provider, z.region, zone, domains, names, coalesce(only_here, 0) AS only_here,
    instances, position, sum(names) OVER (PARTITION BY z.provider, z.region) AS region_names
  FROM zoned z JOIN name_regions USING (location_id) JOIN reached USING (location_id)
    JOIN instances USING (location_id)
  LEFT JOIN single_counts USING (location_id) JOIN providers p ON p.provider = z.provider)
SELECT provider, region, coalesce(zone, '{UNKNOWN}'), domains, names, only_here, instances,
  zone IS NULL
FROM counted ORDER BY position, region_names DESC, region, zone NULLS LAST
"""
_COUNTS = """
SELECT provider, k, count(*) FROM (
  SELECT provider, n, count(*) AS k FROM region_locations
  WHERE zone IS NOT NULL GROUP BY provider, n) GROUP BY ALL
"""
_MEANS = f"""
SELECT provider, CAST({EDGE} AS DOUBLE), count(*) FROM (
  SELECT provider, avg(k) AS mean FROM (
    SELECT provider, n, count(*) AS k FROM region_locations
    WHERE zone IS NOT NULL GROUP BY provider, n) JOIN domain_names USING (n)
  GROUP BY provider, d)
GROUP BY ALL
"""
_TOP = f"""
WITH top AS (
  SELECT rank, d, domain, text FROM ranked JOIN cloud_domains USING (domain)
  SEMI JOIN (SELECT domain FROM uses WHERE provider = 'aws') USING (domain)
  ORDER BY rank, domain LIMIT {TOP_EC2_DOMAINS}),
own AS (
  SELECT DISTINCT d, n FROM uses JOIN top USING (domain) JOIN cloud_names USING (name)
  WHERE provider = 'aws'),
here AS (SELECT n, region, zone FROM region_locations WHERE provider = 'aws' AND zone IS NOT NULL),
per_name AS (SELECT d, n, count(zone) AS k FROM own LEFT JOIN here USING (n) GROUP BY ALL),
spread AS (SELECT d, count(DISTINCT (region, zone)) AS k FROM own JOIN here USING (n) GROUP BY d)
SELECT rank, text, count(*), coalesce(any_value(s.k), 0), count(*) FILTER (p.k = 0),
  count(*) FILTER (p.k = 1), count(*) FILTER (p.k = 2), count(*) FILTER (p.k >= 3)
FROM top JOIN per_name p USING (d) LEFT JOIN spread s USING (d)
GROUP BY rank, text ORDER BY rank, text
"""


def zones(connection: Connection) -> Table:
    """Return one count per (name, zone); addresses of unknown zone have separate rows."""
    users: dict[str, int] = {}
    rows: list[tuple[Cell, ...]] = []
    for provider, region, zone, domains, names, only, instances, dark in fetch(connection, _ZONES):
        if provider not in users:
            users[provider] = population(connection, provider)[1]
        single = (None, None) if dark else (only, share(only, names))
        whole = share(names, users[provider])
        rows.append((provider, region, zone, domains, names, whole, *single, instances))
    n = count(connection, "SELECT count(DISTINCT n) FROM region_locations WHERE zone IS NOT NULL")
    return Table("zone-usage", SPEC_BY_ID["zone-usage"].columns, tuple(rows), n)


def zone_counts(connection: Connection) -> Table:
    """Number of identified zones of one provider that a name uses."""
    per: dict[str, dict[int, int]] = defaultdict(dict)
    for provider, k, names in fetch(connection, _COUNTS):
        per[provider][k] = names
    rows = [(p, *row) for p in PROVIDERS if p in per for row in cumulate(per[p])]
    total = sum(sum(c.values()) for c in per.values())
    return Table("zone-counts", SPEC_BY_ID["zone-counts"].columns, tuple(rows), total)


def zone_means(connection: Connection) -> Table:
    """Unweighted mean of a domain's names with an identified zone, in classes."""
    return mean_table(connection, "domain-zone-means", _MEANS)


def top_zones(connection: Connection) -> Table:
    """Zones of the best-ranked domains on EC2, with the names with unknown zones."""
    rows = tuple(fetch(connection, _TOP))
    return Table("top-zones", SPEC_BY_ID["top-zones"].columns, rows, len(rows))
