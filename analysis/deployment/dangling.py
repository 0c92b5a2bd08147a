"""Count and list dangling aliases: CNAMEs to a provider's name that does not exist.

``cartography.patterns.dangling`` labels them.
"""

from typing import Any

from analysis.deployment.cloud_names import Connection, fetch
from analysis.deployment.dictionary import IN_DOMAIN
from core.report_tables import SPEC_BY_ID, TOP_DANGLING, Table, share

CLAIMABLE = "dangling-claimable"
LABELS = ("dangling", CLAIMABLE)
# A name that lies in two listed domains is listed with the one that is closest to it.
_LOST = f"""
CREATE OR REPLACE TEMP TABLE lost AS
  SELECT domain, name, provider, rule, instance AS missing, label = '{CLAIMABLE}' AS claimable
  FROM fronts WHERE label IN {LABELS} AND {IN_DOMAIN} GROUP BY ALL
"""
_BY_RULE = """
SELECT provider, rule, claimable, count(DISTINCT name), count(DISTINCT domain),
  count(DISTINCT missing)
FROM lost GROUP BY ALL ORDER BY claimable DESC, count(DISTINCT name) DESC, provider, rule
"""
_BY_NAME = f"""
WITH nearest AS (
  SELECT arg_max(domain, length(domain)) AS domain, name, missing, provider, rule, claimable
  FROM lost GROUP BY name, missing, provider, rule, claimable),
ranked AS (SELECT domain, min(rank) AS rank FROM domains GROUP BY domain)
SELECT rank, domain, name, missing, provider, rule, claimable
FROM nearest LEFT JOIN ranked USING (domain)
ORDER BY claimable DESC, rank NULLS LAST, domain, name, missing LIMIT {TOP_DANGLING}
"""


def dangling(connection: Connection) -> Table:
    """Dangling names by the rule that their missing target matches; shares are of all of them."""
    connection.execute(_LOST)
    n = _names(connection)
    rows = [
        (provider, rule, _word(claimable), names, share(names, n), domains, targets)
        for provider, rule, claimable, names, domains, targets in fetch(connection, _BY_RULE)
    ]
    return Table("dangling", SPEC_BY_ID["dangling"].columns, tuple(rows), n)


def dangling_names(connection: Connection) -> Table:
    """Return the names, claimable ones first; needs the relations of ``dangling``."""
    rows = [(*row[:-1], _word(row[-1])) for row in fetch(connection, _BY_NAME)]
    columns = SPEC_BY_ID["dangling-names"].columns
    return Table("dangling-names", columns, tuple(rows), _names(connection))


def _names(connection: Connection) -> int:
    return int(fetch(connection, "SELECT count(DISTINCT name) FROM lost")[0][0])


def _word(claimable: Any) -> str:
    return "yes" if claimable else "no"
