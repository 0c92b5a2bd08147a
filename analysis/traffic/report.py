"""A traffic report: the parts of one import in, every table out, with its checks and sentences."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.traffic import domains, places, shares
from analysis.traffic.checks import check_traffic
from analysis.traffic.dns_join import Connection, open_traffic
from analysis.traffic.headlines import find_headlines
from analysis.traffic.tables import TOP_DOMAINS, TRAFFIC_SPECS
from core.report_tables import Table

_QUALITY = """
SELECT count(*), count(*) FILTER (basis = 'wire'), count(*) FILTER (basis = 'payload'),
  count(*) FILTER (basis = 'bodies'), count(*) FILTER (basis IS NULL),
  coalesce(sum(missed_bytes), 0)::BIGINT, min(hour), max(hour),
  count(*) FILTER (hour IS NULL), count(DISTINCT client)
FROM flows
"""
_QUALITIES = (
    "flows",
    "sized_on_the_wire",
    "sized_by_payload",
    "sized_by_bodies",
    "unsized",
    "missed_bytes",
    "first_hour",
    "last_hour",
    "without_time",
    "clients",
)
# A log's rows of a cloud without a connection in a conn log.
_UNMATCHED = "SELECT count(DISTINCT key) FROM {kind} ANTI JOIN conn USING (key)"

_TOTALS = "SELECT provider, sum(bytes)::BIGINT, count(*) FROM flows GROUP BY provider"
_BY_LOG = """
SELECT log, provider, count(DISTINCT key) FROM (
  SELECT log, provider, key FROM http UNION ALL SELECT log, provider, key FROM ssl
  UNION ALL SELECT log, provider, key FROM dns)
GROUP BY ALL
"""


@dataclass(frozen=True)
class TrafficReport:
    """The tables by id in the order of their specs, and notes on them."""

    tables: dict[str, Table]
    headlines: dict[str, str]
    checks: list[str]
    quality: dict[str, Any]
    # Connections by (number of the log, provider), of logs that list no connections themselves.
    log_flows: dict[tuple[int, str], int]
    # Bytes and flows of each provider, in both directions.
    totals: dict[str, tuple[int | None, int]]


def compute_traffic(
    folder: Path, top_domains: int = TOP_DOMAINS, memory_mb: int = 512
) -> TrafficReport:
    """Every table of one import; an import without a cloud's row gives empty ones."""
    connection = open_traffic(folder, memory_mb)
    try:
        cells = shares.Cells(connection)
        made = [
            shares.clouds(cells),
            shares.protocols(cells),
            domains.domains(connection, top_domains),
            domains.evidence(connection),
            places.directions(connection),
            places.regions(connection),
        ]
        quality = _read_quality(connection)
        log_flows = {(log, p): n for log, p, n in connection.execute(_BY_LOG).fetchall()}
        totals = {p: (size, n) for p, size, n in connection.execute(_TOTALS).fetchall()}
    finally:
        connection.close()
    by_id = {table.id: table for table in made}
    tables = {spec.id: by_id[spec.id] for spec in TRAFFIC_SPECS}
    return TrafficReport(
        tables, find_headlines(tables), check_traffic(tables), quality, log_flows, totals
    )


def _read_quality(connection: Connection) -> dict[str, Any]:
    row = connection.execute(_QUALITY).fetchone() or ()
    unmatched = {}
    for kind in ("http", "ssl", "dns"):
        found = connection.execute(_UNMATCHED.format(kind=kind)).fetchone()
        unmatched[kind] = found[0] if found else 0
    return {**dict(zip(_QUALITIES, row, strict=True)), "unmatched": unmatched}
