"""IMC'13 Tables 6, 9 and 11: the best-ranked domains that use a cloud."""

from analysis.base import Connection, fetch
from core.tables import SPEC_BY_ID, TOP_CLOUD_DOMAINS, TOP_EC2_DOMAINS, Table

_ON_AWS = f"""
WITH top AS (
  SELECT rank, domain FROM domains SEMI JOIN (SELECT domain FROM uses WHERE provider = 'aws')
  USING (domain) ORDER BY rank, domain LIMIT {TOP_EC2_DOMAINS})
"""
_DOMAINS = (
    _ON_AWS
    + """
SELECT rank, domain,
  (SELECT count(*) FROM names n WHERE n.domain = t.domain),
  (SELECT count(*) FROM uses u WHERE u.domain = t.domain AND provider = 'aws')
FROM top t ORDER BY rank, domain
"""
)
_FEATURES = (
    _ON_AWS
    + """
SELECT t.rank, t.domain, any_value(u.n),
  count(DISTINCT f.name) FILTER (label = 'vm'),
  count(DISTINCT f.name) FILTER (label IN ('beanstalk', 'heroku-elb', 'heroku')),
  count(DISTINCT f.name) FILTER (label = 'elb'),
  count(DISTINCT f.instance) FILTER (label = 'elb'),
  count(DISTINCT f.name) FILTER (label = 'cloudfront')
FROM top t
JOIN (SELECT domain, count(*) AS n FROM uses WHERE provider = 'aws' GROUP BY domain) u
  USING (domain)
LEFT JOIN (SELECT * FROM fronts WHERE provider = 'aws') f USING (domain)
GROUP BY t.rank, t.domain ORDER BY t.rank, t.domain
"""
)
_REGIONS = f"""
WITH top AS (
  SELECT rank, domain FROM domains SEMI JOIN cloud USING (domain)
  ORDER BY rank, domain LIMIT {TOP_CLOUD_DOMAINS}),
per_name AS (
  SELECT c.domain, c.name, count(p.region) AS n
  FROM cloud c LEFT JOIN places p USING (domain, name) GROUP BY ALL),
wide AS (
  SELECT domain, count(*) AS n FROM (SELECT DISTINCT domain, provider, region FROM places)
  GROUP BY domain)
SELECT t.rank, t.domain, count(*), coalesce(any_value(w.n), 0),
  count(*) FILTER (p.n = 1), count(*) FILTER (p.n = 2), count(*) FILTER (p.n >= 3)
FROM top t JOIN per_name p USING (domain) LEFT JOIN wide w USING (domain)
GROUP BY t.rank, t.domain ORDER BY t.rank, t.domain
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
