"""IMC'13 Tables 6, 9 and 11: the best-ranked domains that use a cloud."""

from analysis.deployment.cloud_names import EXISTS, Connection, fetch
from core.report_tables import SPEC_BY_ID, TOP_CLOUD_DOMAINS, TOP_EC2_DOMAINS, Table

_BEST = f"""
top AS (
  SELECT rank, domain FROM ranked SEMI JOIN (SELECT domain FROM uses WHERE provider = 'aws')
  USING (domain) ORDER BY rank, domain LIMIT {TOP_EC2_DOMAINS}),
here AS (SELECT domain, count(*) AS n FROM uses WHERE provider = 'aws' GROUP BY domain)
"""
_DOMAINS = f"""
WITH {_BEST},
every AS (
  SELECT domain AS text, count(DISTINCT name) AS n FROM lookups
  SEMI JOIN (SELECT text AS domain FROM top JOIN domain_texts USING (domain)) USING (domain)
  WHERE {EXISTS} GROUP BY domain)
SELECT rank, text, coalesce(every.n, 0), here.n
FROM top JOIN here USING (domain) JOIN domain_texts USING (domain) LEFT JOIN every USING (text)
ORDER BY rank, text
"""
_FEATURES = f"""
WITH {_BEST}
SELECT rank, text, any_value(n),
  count(DISTINCT name) FILTER (label = 'vm'),
  count(DISTINCT name) FILTER (label IN ('beanstalk', 'heroku-elb', 'heroku')),
  count(DISTINCT name) FILTER (label = 'elb'),
  count(DISTINCT instance) FILTER (label = 'elb'),
  count(DISTINCT name) FILTER (label = 'cloudfront')
FROM top JOIN here USING (domain) JOIN domain_texts USING (domain)
LEFT JOIN (FROM labelled WHERE provider = 'aws') USING (domain)
GROUP BY rank, text ORDER BY rank, text
"""
_REGIONS = f"""
WITH top AS (
  SELECT rank, domain FROM ranked SEMI JOIN uses USING (domain)
  ORDER BY rank, domain LIMIT {TOP_CLOUD_DOMAINS}),
per_name AS (
  SELECT domain, name, count(region) AS n
  FROM (SELECT DISTINCT domain, name FROM uses SEMI JOIN top USING (domain))
  LEFT JOIN places USING (domain, name) GROUP BY ALL),
spread AS (
  SELECT domain, count(DISTINCT (provider, region)) AS n FROM places SEMI JOIN top USING (domain)
  GROUP BY domain)
SELECT rank, text, count(*), coalesce(any_value(spread.n), 0),
  count(*) FILTER (per_name.n = 1), count(*) FILTER (per_name.n = 2),
  count(*) FILTER (per_name.n >= 3)
FROM top JOIN domain_texts USING (domain) JOIN per_name USING (domain)
LEFT JOIN spread USING (domain)
GROUP BY rank, text ORDER BY rank, text
"""


def top_domains(connection: Connection) -> Table:
    """Enumerated names and names on EC2 of the best-ranked domains on EC2."""
    return _table(connection, "top-domains", _DOMAINS)


def top_features(connection: Connection) -> Table:
    """Features of the same domains."""
    return _table(connection, "top-features", _FEATURES)


def top_regions(connection: Connection) -> Table:
    """Regions of the best-ranked domains that use any cloud."""
    return _table(connection, "top-regions", _REGIONS)


def _table(connection: Connection, table_id: str, query: str) -> Table:
    rows = tuple(fetch(connection, query))
    spec = SPEC_BY_ID[table_id]
    return Table(spec.id, spec.columns, rows, len(rows))
