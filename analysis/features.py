"""IMC'13 Table 8 and Figure 10: front-end features and how many instances stand behind a name."""

from analysis.base import Connection, count, fetch, population, present_providers
from core.tables import SPEC_BY_ID, Cell, Table, cumulate, share

FEATURES = {
    "aws": ("vm", "elb", "beanstalk", "heroku-elb", "heroku", "cloudfront"),
    "azure": ("cs", "tm", "cdn"),
    "google": ("vm",),
}
UNCLASSIFIED = "unclassified"
_LABELLED = """
SELECT provider, label, count(DISTINCT domain), count(DISTINCT name), count(DISTINCT instance)
FROM fronts GROUP BY ALL
"""
_UNLABELLED = """
SELECT u.provider, count(DISTINCT u.domain), count(*)
FROM uses u ANTI JOIN fronts f USING (name, provider) GROUP BY ALL
"""
_INSTANCES = """
SELECT n, count(*) FROM (
  SELECT count(DISTINCT instance) AS n FROM fronts WHERE provider = 'aws' AND label = ?
  GROUP BY name) GROUP BY n
"""


def patterns(connection: Connection) -> Table:
    """Features by provider: domains, subdomains, distinct instances."""
    found = {(p, label): rest for p, label, *rest in fetch(connection, _LABELLED)}
    for provider, domains, subdomains in fetch(connection, _UNLABELLED):
        found[provider, UNCLASSIFIED] = [domains, subdomains, None]
    rows: list[tuple[Cell, ...]] = []
    for provider in present_providers(connection):
        n_domains, n_names = population(connection, provider)
        for label in (*FEATURES.get(provider, ()), UNCLASSIFIED):
            empty = [0, 0, None if label == UNCLASSIFIED else 0]
            domains, names, instances = found.get((provider, label), empty)
            cells = (domains, share(domains, n_domains), names, share(names, n_names), instances)
            rows.append((provider, label, *cells))
    spec = SPEC_BY_ID["patterns"]
    n = count(connection, "SELECT count(*) FROM cloud")
    return Table(spec.id, spec.columns, tuple(rows), n)


def instance_counts(connection: Connection) -> Table:
    """Distinct instances per name, for VM and ELB front ends on EC2."""
    rows: list[tuple[Cell, ...]] = []
    n = 0
    for label in ("vm", "elb"):
        counts = dict(fetch(connection, _INSTANCES, label))
        n += sum(counts.values())
        rows += [(label, *row) for row in cumulate(counts)]
    spec = SPEC_BY_ID["instance-counts"]
    return Table(spec.id, spec.columns, tuple(rows), n)
