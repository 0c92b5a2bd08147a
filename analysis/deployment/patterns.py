"""IMC'13 Table 8 and Figure 10: front-end features and how many instances stand behind a name."""

from analysis.deployment.cloud_names import (
    Connection,
    count,
    fetch,
    population,
    present_providers,
)
from core.report_tables import SPEC_BY_ID, Cell, Table, cumulate, share

FEATURES = {
    "aws": ("vm", "elb", "beanstalk", "heroku-elb", "heroku", "cloudfront"),
    "azure": ("cs", "tm", "cdn"),
    "google": ("vm",),
}
UNCLASSIFIED = "unclassified"
_LABELLED = """
SELECT provider, label, count(DISTINCT domain), count(DISTINCT name), count(DISTINCT instance)
FROM labelled GROUP BY ALL ORDER BY ALL
"""
_UNLABELLED = """
SELECT provider, count(DISTINCT domain), count(DISTINCT name)
FROM uses ANTI JOIN labelled USING (name, provider) GROUP BY ALL
"""
_INSTANCES = """
SELECT n, count(*) FROM (
  SELECT count(DISTINCT instance) AS n FROM labelled WHERE provider = 'aws' AND label = ?
  GROUP BY name) GROUP BY n
"""


def patterns(connection: Connection) -> Table:
    """Features by provider: domains, subdomains, distinct instances."""
    found = {(p, label): tuple(rest) for p, label, *rest in fetch(connection, _LABELLED)}
    others = {p: (domains, names) for p, domains, names in fetch(connection, _UNLABELLED)}
    rows: list[tuple[Cell, ...]] = []
    for provider in present_providers(connection):
        whole = population(connection, provider)
        for label in _labels(provider, found):
            rows.append(_row(provider, label, found.get((provider, label), (0, 0, 0)), whole))
        domains, names = others.get(provider, (0, 0))
        rows.append(_row(provider, UNCLASSIFIED, (domains, names, None), whole))
    spec = SPEC_BY_ID["patterns"]
    n = count(connection, "SELECT count(*) FROM cloud")
    return Table(spec.id, spec.columns, tuple(rows), n)


def _labels(provider: str, found: dict[tuple[str, str], tuple[int, ...]]) -> list[str]:
    """The agreed rows, then labels that a rule file has beyond them."""
    agreed = FEATURES.get(provider, ())
    return [*agreed, *(label for p, label in found if p == provider and label not in agreed)]


def _row(
    provider: str, label: str, counts: tuple[int | None, ...], whole: tuple[int, int]
) -> tuple[Cell, ...]:
    domains, names, instances = counts
    return (
        provider,
        label,
        domains,
        share(domains or 0, whole[0]),
        names,
        share(names or 0, whole[1]),
        instances,
    )


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
