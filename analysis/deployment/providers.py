"""IMC'13 Table 5: provider classes of names and domains."""

from analysis.deployment.cloud_names import (
    Connection,
    count,
    fetch,
    population,
    present_providers,
)
from core.providers import PROVIDERS
from core.report_tables import SPEC_BY_ID, Cell, Table, share

_DOMAIN_CLASS = """
WITH who AS (
  SELECT domain, string_agg(provider, ' + ' ORDER BY position) AS providers, count(*) AS n
  FROM (SELECT DISTINCT domain, provider FROM uses) JOIN providers USING (provider) GROUP BY domain
), other_hosting AS (SELECT DISTINCT domain FROM {other_hosting})
SELECT CASE WHEN n > 1 THEN providers WHEN b.domain IS NULL THEN providers || ' only'
            ELSE providers || ' + other' END, count(*)
FROM who w LEFT JOIN other_hosting b USING (domain) GROUP BY 1
"""
# The published reading counts all names of a domain; the other only its cloud-using names.
_ALL_NAMES = "elsewhere"
_CLOUD_NAMES = "(SELECT domain FROM elsewhere SEMI JOIN uses USING (domain, name))"


def providers(connection: Connection) -> Table:
    """The provider classes; both readings of "domain" side by side."""
    names = dict(fetch(connection, "SELECT class, count(*) FROM cloud GROUP BY class"))
    wide = dict(fetch(connection, _DOMAIN_CLASS.format(other_hosting=_ALL_NAMES)))
    narrow = dict(fetch(connection, _DOMAIN_CLASS.format(other_hosting=_CLOUD_NAMES)))
    present = present_providers(connection)
    order = [f"{p} {suffix}" for p in present for suffix in ("only", "+ other")]
    mixed = sorted({*names, *wide, *narrow} - set(order), key=_by_provider)
    counts = [(c, wide.get(c, 0), names.get(c, 0), narrow.get(c, 0)) for c in order + mixed]
    for provider in present:
        domains, subdomains = population(connection, provider)
        counts.append((f"{provider} total", domains, subdomains, domains))
    n_domains = count(connection, "SELECT count(DISTINCT domain) FROM uses")
    n_names = count(connection, "SELECT count(*) FROM cloud")
    counts.append(("total", n_domains, n_names, n_domains))
    spec = SPEC_BY_ID["providers"]
    return Table(spec.id, spec.columns, tuple(_row(c, n_domains, n_names) for c in counts), n_names)


def _row(counts: tuple[str, int, int, int], n_domains: int, n_names: int) -> tuple[Cell, ...]:
    name, wide, names, narrow = counts
    return (
        name,
        wide,
        share(wide, n_domains),
        names,
        share(names, n_names),
        narrow,
        share(narrow, n_domains),
    )


def _by_provider(name: str) -> list[int]:
    return [PROVIDERS.index(p) for p in name.split(" + ")]
