"""IMC'13 Table 7: the domains with the most HTTP(S) traffic of each cloud, and what names them."""

from collections import Counter, defaultdict
from typing import Any

from analysis.traffic.confidence_intervals import N_GROUPS, find_intervals
from analysis.traffic.dns_join import Connection
from analysis.traffic.tables import Row, fill
from core.providers import PROVIDERS
from core.report_tables import Table, share

_NAMED = """
CREATE TABLE IF NOT EXISTS named AS
SELECT provider, domain, coalesce(evidence, 'no name') AS evidence, client, key,
  bytes * coalesce(part, 1.0) AS bytes, coalesce(part, 1.0) AS part
FROM opened LEFT JOIN names USING (key) WHERE protocol IN ('http', 'https')
"""
_TOP = """
SELECT provider, position, domain, bytes, flows, clients, evidence FROM (
  SELECT provider, domain, round(coalesce(sum(bytes), 0))::BIGINT AS bytes, count(*) AS flows,
    count(DISTINCT client) AS clients, mode(evidence) AS evidence,
    row_number() OVER (PARTITION BY provider ORDER BY coalesce(sum(bytes), 0) DESC, count(*) DESC,
      domain) AS position
  FROM named WHERE domain IS NOT NULL GROUP BY provider, domain)
WHERE position <= ?
"""
_WHOLE = "SELECT coalesce(sum(bytes), 0)::BIGINT, count(*), count(DISTINCT client) FROM named"
_FLOWS = "SELECT count(*) FROM opened WHERE protocol IN ('http', 'https')"
_GROUPS = f"""
SELECT (hash(client) % {N_GROUPS})::INT, provider || ' ' || domain,
  round(coalesce(sum(bytes), 0))::BIGINT
FROM named GROUP BY ALL
"""
_EVIDENCE = """
SELECT provider, evidence, round(coalesce(sum(bytes), 0))::BIGINT, round(sum(part))::BIGINT,
  count(DISTINCT domain)
FROM named GROUP BY ALL
"""
_REST = ""


def domains(connection: Connection, limit: int) -> Table:
    """Table 7: bytes of each cloud's first domains, as a share of all HTTP(S) bytes of clouds."""
    connection.execute(_NAMED)
    whole, _, n_clients = _one(connection, _WHOLE)
    found = connection.execute(_TOP, [limit]).fetchall()
    intervals = find_intervals(_groups(connection, {f"{r[0]} {r[2]}" for r in found}), n_clients)
    rows: list[Row] = [
        (
            *(provider, position, domain, n_bytes, share(n_bytes, whole)),
            *intervals.get(f"{provider} {domain}", (None, None)),
            *(flows, clients, evidence),
        )
        for provider, position, domain, n_bytes, flows, clients, evidence in sorted(
            found, key=lambda row: (PROVIDERS.index(row[0]), row[1])
        )
    ]
    return fill("traffic-domains", rows, _one(connection, _FLOWS)[0])


def _groups(connection: Connection, shown: set[str]) -> Counter[tuple[int, str]]:
    """Bytes by group of clients and shown domain; all other domains together are one cell."""
    sums: Counter[tuple[int, str]] = Counter()
    cursor = connection.execute(_GROUPS)
    while batch := cursor.fetchmany(10_000):
        for group, domain, n_bytes in batch:
            sums[group, domain if domain in shown else _REST] += n_bytes
    return sums


def evidence(connection: Connection) -> Table:
    """What named the HTTP(S) flows of each cloud, and why the others have no name."""
    connection.execute(_NAMED)
    n_flows = _one(connection, _FLOWS)[0]
    own: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for provider, *row in connection.execute(_EVIDENCE).fetchall():
        own[provider].append(tuple(row))
    rows: list[Row] = []
    for provider in sorted(own, key=PROVIDERS.index):
        n_bytes, flows = (sum(row[i] for row in own[provider]) for i in (1, 2))
        for kind, part_bytes, part_flows, n_domains in sorted(own[provider], key=_by_size):
            rows.append(
                (
                    *(provider, kind, part_bytes, share(part_bytes, n_bytes)),
                    *(part_flows, share(part_flows, flows), n_domains),
                )
            )
    return fill("traffic-evidence", rows, n_flows)


def _by_size(row: tuple[Any, ...]) -> tuple[int, int, str]:
    return -row[1], -row[2], row[0]


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    found = connection.execute(query).fetchone()
    return found or ()
