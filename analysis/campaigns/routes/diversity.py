"""ISP diversity of routes: IMC'13 Table 14, route shares, and the effect of one failing ISP.

Counts of ISPs are lower bounds: an ISP that carried no measured route was not seen.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from analysis.campaigns.routes.first_as_kernel import Reason

Row = dict[str, Any]
REGION = ("provider", "region")
ZONE = ("provider", "region", "zone")

# Only certain routes count; routes with a gap before the ISP are doubtful, because the AS behind
# a gap may not be the neighbour. ``effective`` is the inverse Simpson index of route shares.
_TABLE = """
WITH known AS (
  SELECT {keys}, isp, count(*) AS n FROM routes
  WHERE isp IS NOT NULL AND NOT doubtful GROUP BY ALL
), spread AS (
  SELECT {keys}, count(*) AS isps, sum(n) AS certain, max(n) / sum(n) AS largest_share,
    sum(n) ** 2 / sum(n ** 2) AS effective, arg_max(isp, (n, -isp)) AS largest
  FROM known GROUP BY ALL
), totals AS (
  SELECT {keys}, count(*) AS routes, count(DISTINCT "end") AS ends,
    count(*) FILTER (isp IS NOT NULL AND doubtful) AS doubtful,
    count(DISTINCT isp) AS isps_with_doubtful,
    count(*) FILTER (isp IS NULL) AS unknown FROM routes GROUP BY ALL
)
SELECT {keys}, routes, ends, coalesce(isps, 0) AS isps, isps_with_doubtful,
  coalesce(certain, 0)::BIGINT AS certain, doubtful, unknown, largest, largest_share, effective
FROM totals LEFT JOIN spread USING ({keys}) ORDER BY {keys}
"""
_REASONS = """
SELECT {keys}, reason, count(*) AS routes FROM routes WHERE isp IS NULL
GROUP BY ALL ORDER BY {keys}, routes DESC, reason
"""
_SHARES = """
SELECT {keys}, isp, count(*) AS routes, count(DISTINCT "end") AS ends,
  count(*) / sum(count(*)) OVER (PARTITION BY {keys}) AS share
FROM routes WHERE isp IS NOT NULL AND NOT doubtful GROUP BY {keys}, isp
ORDER BY {keys}, routes DESC, isp
"""
# An end is cut off where all its certain routes of the region used the ISP; it is unsettled where
# it also has routes that are not certain.
_FAILURES = """
WITH by_isp AS (
  SELECT {keys}, "end", isp, count(*) AS n FROM routes
  WHERE isp IS NOT NULL AND NOT doubtful GROUP BY ALL
), uncertain AS (
  SELECT {keys}, "end", count(*) AS n FROM routes WHERE isp IS NULL OR doubtful GROUP BY ALL
), ends AS (
  SELECT {keys}, "end", sum(by_isp.n) AS certain, coalesce(max(uncertain.n), 0) AS uncertain
  FROM by_isp LEFT JOIN uncertain USING ({keys}, "end") GROUP BY ALL
), totals AS (
  SELECT {keys}, count(*) AS ends, sum(certain) AS routes FROM ends GROUP BY ALL
)
SELECT {keys}, isp, sum(n)::BIGINT AS routes, sum(n) / max(totals.routes) AS share,
  count(*) FILTER (n = certain AND uncertain = 0) AS cut_off,
  count(*) FILTER (n = certain AND uncertain > 0) AS unsettled,
  count(*) FILTER (n < certain) AS rerouted,
  max(totals.ends)::BIGINT AS ends,
  count(*) FILTER (n = certain AND uncertain = 0) / max(totals.ends) AS cut_off_share
FROM by_isp JOIN ends USING ({keys}, "end") JOIN totals USING ({keys})
GROUP BY {keys}, isp ORDER BY {keys}, cut_off DESC, routes DESC, isp
"""
_LOST_ENDS = """
WITH reached_before AS (SELECT {keys}, "end", isp, doubtful FROM before WHERE reached),
reached_after AS (SELECT DISTINCT {keys}, "end" FROM after WHERE reached),
probed_after AS (SELECT DISTINCT {keys}, "end" FROM after)
SELECT {keys}, "end", list_sort(list_distinct(list(isp) FILTER (NOT doubtful))) AS isps
FROM reached_before SEMI JOIN probed_after USING ({keys}, "end")
ANTI JOIN reached_after USING ({keys}, "end")
GROUP BY {keys}, "end" ORDER BY {keys}, "end"
"""
_VANISHED_ISPS = """
SELECT {keys}, isp, count(*) AS routes, count(DISTINCT "end") AS ends
FROM before b WHERE isp IS NOT NULL AND NOT doubtful AND NOT EXISTS (
  SELECT 1 FROM after a WHERE a.isp = b.isp AND NOT a.doubtful AND {same})
GROUP BY {keys}, isp ORDER BY {keys}, routes DESC, isp
"""


def diversity_table(routes: pa.Table, by: Sequence[str] = ZONE) -> list[Row]:
    """Return one row per zone or region: distinct ISPs and the distribution of routes."""
    return _query(_TABLE, by, routes=routes)


def unknown_reasons(routes: pa.Table, by: Sequence[str] = ZONE) -> list[Row]:
    """Count routes without an ISP by reason, per zone or region."""
    return _query(_REASONS, by, routes=routes)


def isp_shares(routes: pa.Table, by: Sequence[str] = REGION) -> list[Row]:
    """Return each ISP's share of the certain routes of a zone or region."""
    return _query(_SHARES, by, routes=routes)


def isp_failures(routes: pa.Table, by: Sequence[str] = REGION) -> list[Row]:
    """Return the effect of each ISP's failure on the ends of a zone or region.

    ``cut_off`` is an upper bound: an end may have routes that no traceroute took.
    """
    return _query(_FAILURES, by, routes=routes)


def compare_routes(
    before: pa.Table, after: pa.Table, by: Sequence[str] = REGION
) -> dict[str, list[Row]]:
    """Compare two sets of routes, such as before and after a failure: vanished ISPs, lost ends.

    A lost end was reached before, probed again, and not reached.
    """
    return {
        "gone": _query(_VANISHED_ISPS, by, before=before, after=after),
        "lost": _query(_LOST_ENDS, by, before=before, after=after),
    }


def route_totals(routes: pa.Table) -> Row:
    """Count all routes: with a certain ISP, a doubtful one, or none by reason."""
    by_reason = {r.name.lower(): 0 for r in Reason if r is not Reason.FOUND}
    for row in _query(_REASONS, (), routes=routes):
        by_reason[row["reason"]] = row["routes"]
    found = _query(_TABLE, (), routes=routes)
    return {**(found[0] if found else {"routes": 0}), "by_reason": by_reason}


def _query(query: str, by: Sequence[str], **tables: pa.Table) -> list[Row]:
    # Without keys, all rows form one group.
    keys = ", ".join(f'"{k}"' for k in by) or "place"
    same = " AND ".join(f'a."{k}" = b."{k}"' for k in by) or "true"
    with duckdb.connect(":memory:") as connection:
        for name, rows in tables.items():
            connection.register(f"{name}_rows", rows)
            connection.sql(f"SELECT *, 'all' AS place FROM {name}_rows").create_view(name)
        found = connection.sql(query.format(keys=keys, same=same))
        kept = [c for c in found.columns if c != "place"]
        rows_found: list[Row] = found.select(*[f'"{c}"' for c in kept]).to_arrow_table().to_pylist()
        return rows_found
