"""Sharing of load-balancer addresses, name servers and name-server operators."""

from analysis.deployment.cloud_names import Connection, count, fetch
from core.report_tables import (
    SHARING_EDGES,
    SPEC_BY_ID,
    TOP_OPERATORS,
    Cell,
    Table,
    cumulate,
    share,
)

# The last class, without an edge, is named by the largest number that was found.
_EDGE = f"coalesce(list_min(list_filter({list(SHARING_EDGES)}, lambda e: e >= k)), max(k) OVER ())"
_CLASSES = f"SELECT edge, count(*) FROM (SELECT {_EDGE} AS edge FROM sharers) GROUP BY edge"
_BALANCERS = f"""
WITH sharers AS (
  SELECT count(DISTINCT name) AS k FROM labelled WHERE provider = 'aws' AND label = 'elb'
  GROUP BY instance)
{_CLASSES}
"""
_SERVERS = f"""
WITH sharers AS (
  SELECT count(DISTINCT domain) AS k FROM served SEMI JOIN uses USING (domain) GROUP BY server)
{_CLASSES}
"""
# Registries that sell names one level further down; what a rule of this size misses makes one
# operator of several, never several of one.
_SECOND_LEVEL = "'ac', 'co', 'com', 'edu', 'gov', 'net', 'ne', 'or', 'org'"
# Operators that spread their servers over many registered domains, by the first label of those.
SERVER_FAMILIES = (
    ("^awsdns-", "Amazon Route 53"),
    ("^azure-dns$", "Azure DNS"),
    ("^ultradns$", "UltraDNS"),
    ("^akam$", "Akamai"),
    ("^nsone$", "NS1"),
)
_FAMILY = " ".join(
    f"WHEN regexp_matches(split_part(registered, '.', 1), '{pattern}') THEN '{name}'"
    for pattern, name in SERVER_FAMILIES
)
_OPERATED = f"""
CREATE TEMP TABLE server_operators AS
WITH named AS (
  SELECT DISTINCT d, server, string_split(server, '.') AS labels
  FROM served JOIN cloud_domains USING (domain)),
registered AS (
  SELECT d, server, array_to_string(labels[CASE
    WHEN array_length(labels) > 2 AND length(labels[-1]) = 2 AND labels[-2] IN ({_SECOND_LEVEL})
    THEN -3 ELSE -2 END :], '.') AS registered FROM named)
SELECT d, server, CASE {_FAMILY} ELSE registered END AS operator FROM registered
"""
_OPERATORS = f"""
WITH per_domain AS (
  SELECT d, operator, count(*) OVER (PARTITION BY d) = 1 AS is_only
  FROM (SELECT DISTINCT d, operator FROM server_operators)),
served AS (
  SELECT operator, count(*) AS domains FROM per_domain GROUP BY operator),
named AS (
  SELECT operator, count(*) AS names, count(*) FILTER (is_only) AS only_here
  FROM per_domain JOIN ns_domains USING (d) GROUP BY operator),
sized AS (SELECT operator, count(DISTINCT server) AS servers FROM server_operators
  GROUP BY operator)
SELECT operator, servers, domains, coalesce(names, 0), coalesce(only_here, 0)
FROM served JOIN sized USING (operator) LEFT JOIN named USING (operator)
ORDER BY coalesce(names, 0) DESC, domains DESC, operator LIMIT {TOP_OPERATORS}
"""


def derive_operators(connection: Connection) -> None:
    """Add ``server_operators`` (d, server, operator) to the tables of
    ``analysis.deployment.address_places``.
    """
    connection.execute(_OPERATED)


def elb_sharing(connection: Connection) -> Table:
    """Addresses of load balancers by how many names stand behind each."""
    return _classes(connection, "elb-sharing", _BALANCERS)


def name_server_sharing(connection: Connection) -> Table:
    """Name servers by how many cloud-using domains each serves."""
    return _classes(connection, "name-server-sharing", _SERVERS)


def _classes(connection: Connection, table_id: str, query: str) -> Table:
    counts = dict(fetch(connection, query))
    rows = tuple(cumulate(counts))
    return Table(table_id, SPEC_BY_ID[table_id].columns, rows, sum(counts.values()))


def name_server_operators(connection: Connection) -> Table:
    """Operators of name servers, by the names that rely on them, and on them alone."""
    domains = count(connection, "SELECT count(*) FROM cloud_domains")
    names = count(connection, "SELECT count(*) FROM cloud_names")
    rows: list[tuple[Cell, ...]] = [
        (who, servers, d, share(d, domains), n, share(n, names), only, share(only, n))
        for who, servers, d, n, only in fetch(connection, _OPERATORS)
    ]
    spec = SPEC_BY_ID["name-server-operators"]
    return Table(spec.id, spec.columns, tuple(rows), names)
