"""Where the traffic goes, and who opened it: regions of each cloud, and directions."""

from analysis.traffic.dns_join import Connection
from analysis.traffic.tables import Row, fill
from core.providers import PROVIDERS
from core.report_tables import Table, share

_REGIONS = """
SELECT provider, region, coalesce(sum(bytes), 0)::BIGINT AS bytes, count(*) AS flows,
  count(DISTINCT server)
FROM opened GROUP BY ALL ORDER BY bytes DESC, flows DESC, region
"""
_DIRECTIONS = """
SELECT provider,
  CASE WHEN toward AND inside THEN 'opened inside, towards the cloud'
       WHEN toward THEN 'opened outside, towards the cloud'
       WHEN inside THEN 'opened by the cloud, towards inside'
       ELSE 'opened by the cloud, towards outside' END AS direction,
  coalesce(sum(bytes), 0)::BIGINT, count(*), count(DISTINCT client), toward AND inside
FROM flows GROUP BY ALL ORDER BY direction
"""


def regions(connection: Connection) -> Table:
    """Bytes and flows by region; a block that its provider calls global has none."""
    found = connection.execute(_REGIONS).fetchall()
    totals = {p: [sum(r[i] for r in found if r[0] == p) for i in (2, 3)] for p in PROVIDERS}
    rows: list[Row] = [
        (
            *(provider, region, n_bytes, share(n_bytes, totals[provider][0])),
            *(flows, share(flows, totals[provider][1]), servers),
        )
        for provider, region, n_bytes, flows, servers in sorted(
            found, key=lambda row: PROVIDERS.index(row[0])
        )
    ]
    return fill("traffic-regions", rows, sum(total[1] for total in totals.values()))


def directions(connection: Connection) -> Table:
    """All flows of each cloud by who opened them; the published tables count the first kind."""
    found = connection.execute(_DIRECTIONS).fetchall()
    rows: list[Row] = [tuple(row) for row in sorted(found, key=lambda r: PROVIDERS.index(r[0]))]
    return fill("traffic-directions", rows, sum(row[3] for row in found))
