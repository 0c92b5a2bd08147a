"""IMC'13 Table 10 and Figure 12: which regions names use, and how many."""

from collections import defaultdict

from analysis.deployment.cloud_names import Connection, count, fetch, population
from core.providers import PROVIDERS
from core.report_tables import MEAN_EDGES, SPEC_BY_ID, Cell, Table, cumulate, share

_REGIONS = """
WITH name_regions AS (SELECT DISTINCT name, provider, region FROM places),
single_regions AS (
  SELECT any_value(provider) AS provider, any_value(region) AS region
  FROM name_regions GROUP BY name HAVING count(*) = 1),
counted AS (
  SELECT provider, region, count(*) AS names FROM name_regions GROUP BY provider, region),
single_counts AS (SELECT provider, region, count(*) AS only_here FROM single_regions
  GROUP BY provider, region),
reached AS (
  SELECT provider, region, count(*) AS domains
  FROM (SELECT DISTINCT domain, provider, region FROM places) GROUP BY provider, region)
SELECT provider, region, domains, names, coalesce(only_here, 0)
FROM counted JOIN reached USING (provider, region) JOIN providers USING (provider)
LEFT JOIN single_counts USING (provider, region)
ORDER BY position, names DESC, region
"""
_COUNTS = """
SELECT provider, n, count(*) FROM (
  SELECT provider, count(DISTINCT region) AS n FROM places GROUP BY provider, name) GROUP BY ALL
"""
# The upper edge of the bin of a mean; one above the last edge has its rounded-up value as bin.
EDGE = f"coalesce(list_min(list_filter({list(MEAN_EDGES)}, lambda e: e >= mean)), ceil(mean))"
_MEANS = f"""
SELECT provider, CAST({EDGE} AS DOUBLE), count(*) FROM (
  SELECT provider, avg(n) AS mean FROM (
    SELECT provider, domain, count(*) AS n FROM places GROUP BY provider, domain, name)
  GROUP BY provider, domain)
GROUP BY ALL
"""

_OF_DOMAINS = """
SELECT text, provider, region, count(DISTINCT name) AS names
FROM places JOIN domain_texts USING (domain) GROUP BY ALL
ORDER BY text, names DESC, provider, region
"""


def domain_regions(connection: Connection) -> list[tuple[str, str, str, int]]:
    """Return domain, provider, region and number of names of every region that a domain uses."""
    return fetch(connection, _OF_DOMAINS)


def regions(connection: Connection) -> Table:
    """One count per (name, region); CDN addresses are left out."""
    users: dict[str, int] = {}
    rows: list[tuple[Cell, ...]] = []
    for provider, code, domains, names, only in fetch(connection, _REGIONS):
        if provider not in users:
            users[provider] = population(connection, provider)[1]
        rows.append(
            (
                provider,
                code,
                domains,
                names,
                share(names, users[provider]),
                only,
                share(only, names),
            )
        )
    spec = SPEC_BY_ID["regions"]
    n = count(connection, "SELECT count(DISTINCT name) FROM places")
    return Table(spec.id, spec.columns, tuple(rows), n)


def region_counts(connection: Connection) -> Table:
    """Number of regions of one provider that a name uses."""
    per: dict[str, dict[int, int]] = defaultdict(dict)
    for provider, n, names in fetch(connection, _COUNTS):
        per[provider][n] = names
    rows = [(p, *row) for p in PROVIDERS if p in per for row in cumulate(per[p])]
    spec = SPEC_BY_ID["region-counts"]
    total = sum(sum(c.values()) for c in per.values())
    return Table(spec.id, spec.columns, tuple(rows), total)


def region_means(connection: Connection) -> Table:
    """Unweighted mean of a domain's names, in classes with the upper edges ``MEAN_EDGES``."""
    return mean_table(connection, "domain-region-means", _MEANS)


def mean_table(connection: Connection, table_id: str, query: str) -> Table:
    """Cumulative classes by provider of a query that gives (provider, edge, domains)."""
    per: dict[str, dict[float, int]] = defaultdict(dict)
    for provider, edge, domains in fetch(connection, query):
        per[provider][edge] = domains
    rows: list[tuple[Cell, ...]] = []
    for provider in (p for p in PROVIDERS if p in per):
        rows += [(provider, *row) for row in cumulate(per[provider])]
    total = sum(sum(c.values()) for c in per.values())
    return Table(table_id, SPEC_BY_ID[table_id].columns, tuple(rows), total)
