"""Build the index of some shards: rows of domains and of names, each answered by one read.

A row of a domain has its whole profile and the range of its names in the second table.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from analysis.deployment.cloud_names import (
    EXISTS,
    IN_CLOUD,
    IN_DOMAIN,
    IN_REGION,
    SITED,
    Connection,
)
from analysis.index.profiles import MAX_SERVER_ROWS
from lake.parts import open_views, parts_of, sql_list

# The pattern and region of a row carry their provider, the zone its region: ``aws us-east-1``.
_ZONE = "CASE WHEN starts_with(zone, home) THEN zone ELSE home || ' ' || zone END"
_NAMES = f"""
CREATE TEMP TABLE listed AS
WITH n AS (SELECT domain, name, min(technique) AS technique FROM lookups
           WHERE {EXISTS} GROUP BY domain, name),
labelled AS (
  SELECT address, any_value(region) AS home, min(zone) AS zone FROM zones
  WHERE zone <> '' GROUP BY address HAVING count(DISTINCT (region, zone)) = 1),
p AS (
  SELECT domain, name,
    coalesce(list_sort(list(DISTINCT provider) FILTER ({IN_CLOUD})), []) AS providers,
    coalesce(list_sort(list(DISTINCT provider || ' ' || region) FILTER ({IN_REGION})), [])
      AS regions,
    coalesce(list_sort(list(DISTINCT provider || ' ' || {_ZONE}) FILTER (zone IS NOT NULL)), [])
      AS zones,
    count(*) AS addresses, count(*) FILTER (NOT {IN_CLOUD}) AS elsewhere
  FROM (SELECT domain, name, address, provider, region, kind FROM {SITED}) p
  LEFT JOIN labelled z ON z.address = p.address AND z.home = p.region AND {IN_REGION}
  GROUP BY domain, name),
f AS (SELECT domain, name, list_sort(list(DISTINCT provider || ' ' || label)) AS patterns
      FROM fronts GROUP BY domain, name)
SELECT row_number() OVER (
    ORDER BY domain, len(coalesce(providers, [])) = 0, name) - 1 AS place,
  domain, name, technique, coalesce(providers, []) AS providers,
  coalesce(regions, []) AS regions, coalesce(zones, []) AS zones,
  coalesce(patterns, []) AS patterns, coalesce(addresses, 0) AS addresses,
  coalesce(elsewhere, 0) AS elsewhere
FROM n LEFT JOIN p USING (domain, name) LEFT JOIN f USING (domain, name)
"""
_SETS = ("providers", "regions", "patterns", "zones")
# Sets of a domain are those of its names; ``cloud`` counts what the list of domains counts.
_UNNESTED = ",\n".join(
    f"{kind} AS (SELECT domain, list_sort(list(DISTINCT one)) AS {kind} FROM "
    f"(SELECT domain, unnest({kind}) AS one FROM listed) GROUP BY domain)"
    for kind in _SETS
)
_DOMAINS = f"""
WITH spans AS (
  SELECT domain, min(place) AS first, count(*) AS total,
    count(*) FILTER (len(providers) > 0) AS cloud
  FROM listed GROUP BY domain),
{_UNNESTED},
servers AS (
  SELECT domain, list(s ORDER BY s.server, s.address)[:{MAX_SERVER_ROWS}] AS servers
  FROM servers s GROUP BY domain),
located AS (
  SELECT DISTINCT domain, provider, region, name,
    count(DISTINCT (provider, region)) OVER (PARTITION BY domain, name) = 1 AS is_only
  FROM {SITED} WHERE {IN_REGION}),
depends AS (
  SELECT domain, list({{'provider': provider, 'region': region, 'names': names,
    'only_here': only_here}} ORDER BY names DESC, provider, region) AS depends
  FROM (SELECT domain, provider, region, count(DISTINCT name) AS names,
          count(DISTINCT name) FILTER (is_only) AS only_here FROM located GROUP BY ALL)
  GROUP BY domain),
labels AS (
  SELECT domain, list({{'provider': provider, 'label': label, 'names': names,
    'instances': instances, 'example': example}} ORDER BY names DESC, provider, label) AS labels
  FROM (SELECT domain, provider, label, count(DISTINCT name) AS names,
          count(DISTINCT instance) AS instances, min(name) AS example
        FROM fronts GROUP BY domain, provider, label)
  GROUP BY domain),
used AS (
  SELECT domain, count(DISTINCT name) AS used FROM placements
  WHERE {IN_CLOUD} AND {IN_DOMAIN} GROUP BY domain)
SELECT d.*, coalesce(used, 0) AS cloud, coalesce(first, 0) AS first, coalesce(total, 0) AS total,
  {", ".join(f"coalesce({kind}, []) AS {kind}" for kind in _SETS)},
  coalesce(servers, []) AS servers, coalesce(depends, []) AS depends,
  coalesce(labels, []) AS labels, md5_number_lower(d.domain) AS hash
FROM d LEFT JOIN spans USING (domain) LEFT JOIN used USING (domain)
{" ".join(f"LEFT JOIN {kind} USING (domain)" for kind in _SETS)}
LEFT JOIN servers USING (domain) LEFT JOIN depends USING (domain) LEFT JOIN labels USING (domain)
"""
_HOMES = """
CREATE TEMP VIEW d AS SELECT * EXCLUDE (filename), parse_filename(filename, true) AS shard
FROM read_parquet({paths}, filename = true)
"""
_NO_HOMES = "CREATE TEMP VIEW d AS SELECT *, '' AS shard FROM domains"


def index_shards(root: Path, survey: str, shards: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """(domains, names) of some shards; ``first`` and ``total`` of a domain point into the names."""
    with open_views(root, survey, shards) as connection:
        connection.execute(_NAMES)
        paths = parts_of(root, survey, "domains", shards)
        connection.execute(_HOMES.format(paths=sql_list(paths)) if paths else _NO_HOMES)
        names = _table(connection, "SELECT * EXCLUDE (place) FROM listed ORDER BY place")
        return _table(connection, _DOMAINS), names


def _table(connection: Connection, query: str) -> pa.Table:
    return connection.sql(query).to_arrow_table()
