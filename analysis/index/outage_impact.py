"""List the domains affected by each outage of a provider, region, zone or operator, by rank.

Uses the temporary tables of ``analysis.outages.outages``.
"""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from analysis.reporting.survey_tables import open_study

# Number of operators with listed domains: far more than the report's table shows.
MAX_OPERATORS = 200
_AFFECTED_DOMAINS = f"""
WITH hits AS (SELECT t, count(*) AS n FROM outage_effects GROUP BY t),
shown AS (
  SELECT t, kind, provider, target FROM (
    SELECT g.*, row_number() OVER (
      PARTITION BY kind ORDER BY coalesce(hits.n, 0) DESC, target) AS place
    FROM targets g LEFT JOIN hits USING (t))
  WHERE kind <> 'operator' OR place <= {MAX_OPERATORS}),
all_names AS (
  SELECT d, count(DISTINCT name) AS whole FROM (
    SELECT domain, name FROM uses UNION ALL SELECT domain, name FROM elsewhere)
  JOIN cloud_domains USING (domain) GROUP BY d),
affected_domains AS (
  SELECT t, d, count(*) FILTER (front OR silent) AS down,
    count(*) FILTER (NOT front AND NOT silent) AS part, false AS silent
  FROM outage_effects JOIN domain_names USING (n) WHERE affected GROUP BY t, d
  UNION ALL SELECT t, d, 0, 0, true FROM lost_servers WHERE silent),
per AS (
  SELECT t, d, sum(down) AS down, sum(part) AS part, bool_or(silent) AS silent
  FROM affected_domains GROUP BY t, d)
SELECT kind, provider, target, rank, text AS domain,
  CASE WHEN silent OR down = whole THEN 'down' ELSE 'part' END AS state,
  CAST(down AS BIGINT) AS down, CAST(part AS BIGINT) AS part, whole AS names, silent
FROM per JOIN shown USING (t) JOIN cloud_domains USING (d) JOIN all_names USING (d)
JOIN (SELECT domain, min(rank) AS rank FROM ranked GROUP BY domain) USING (domain)
ORDER BY kind, provider, target, state, rank, text
"""


def affected_domains(
    root: Path, survey: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> pa.Table:
    """Every domain that an outage hits, by target; those that are down first, each by rank."""
    with open_study(root, survey, shards, memory_mb) as connection:
        return connection.sql(_AFFECTED_DOMAINS).to_arrow_table()
