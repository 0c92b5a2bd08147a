"""ISP diversity from routes: Table 14, how evenly routes spread, and what one failing ISP cuts off.

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

# Only certain routes count; routes with a gap before the ISP are told apart, because the AS behind
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
# An end is cut off where all its certain routes of the place went over the ISP; it is unsettled
# where its other routes are not certain, so that nobody can say.
_FAILURES = """
WITH own AS (
  SELECT {keys}, "end", isp, count(*) AS n FROM routes
  WHERE isp IS NOT NULL AND NOT doubtful GROUP BY ALL
), unsure AS (
  SELECT {keys}, "end", count(*) AS n FROM routes WHERE isp IS NULL OR doubtful GROUP BY ALL
), ends AS (
  SELECT {keys}, "end", sum(own.n) AS certain, coalesce(max(unsure.n), 0) AS unsure
  FROM own LEFT JOIN unsure USING ({keys}, "end") GROUP BY ALL
), totals AS (
  SELECT {keys}, count(*) AS ends, sum(certain) AS routes FROM ends GROUP BY ALL
)
SELECT {keys}, isp, sum(n)::BIGINT AS routes, sum(n) / max(totals.routes) AS share,
  count(*) FILTER (n = certain AND unsure = 0) AS cut_off,
  count(*) FILTER (n = certain AND unsure > 0) AS unsettled,
  count(*) FILTER (n < certain) AS rerouted,
  max(totals.ends)::BIGINT AS ends,
  count(*) FILTER (n = certain AND unsure = 0) / max(totals.ends) AS cut_off_share
FROM own JOIN ends USING ({keys}, "end") JOIN totals USING ({keys})
GROUP BY {keys}, isp ORDER BY {keys}, cut_off DESC, routes DESC, isp
"""
_LOST = """
WITH was AS (SELECT {keys}, "end", isp, doubtful FROM before WHERE reached),
now AS (SELECT DISTINCT {keys}, "end" FROM after WHERE reached),
tried AS (SELECT DISTINCT {keys}, "end" FROM after)
SELECT {keys}, "end", list_sort(list_distinct(list(isp) FILTER (NOT doubtful))) AS isps
FROM was SEMI JOIN tried USING ({keys}, "end") ANTI JOIN now USING ({keys}, "end")
GROUP BY {keys}, "end" ORDER BY {keys}, "end"
"""
_GONE = """
SELECT {keys}, isp, count(*) AS routes, count(DISTINCT "end") AS ends
FROM before b WHERE isp IS NOT NULL AND NOT doubtful AND NOT EXISTS (
  SELECT 1 FROM after a WHERE a.isp = b.isp AND NOT a.doubtful AND {same})
GROUP BY {keys}, isp ORDER BY {keys}, routes DESC, isp
"""


def table(routes: pa.Table, by: Sequence[str] = ZONE) -> list[Row]:
    """One row per zone, or per region: distinct ISPs and how unevenly routes use them."""
    return _ask(_TABLE, by, routes=routes)


def reasons(routes: pa.Table, by: Sequence[str] = ZONE) -> list[Row]:
    """Why routes have no ISP, per zone or region."""
    return _ask(_REASONS, by, routes=routes)


def shares(routes: pa.Table, by: Sequence[str] = REGION) -> list[Row]:
    """Every ISP's part of the certain routes of a zone or region."""
    return _ask(_SHARES, by, routes=routes)


def failures(routes: pa.Table, by: Sequence[str] = REGION) -> list[Row]:
    """What each ISP takes with it: ends that were only ever reached over it, and others.

    An end is ``cut_off`` as far as was measured: it may have ways that no traceroute took.
    """
    return _ask(_FAILURES, by, routes=routes)


def compare(before: pa.Table, after: pa.Table, by: Sequence[str] = REGION) -> dict[str, list[Row]]:
    """Two sets of routes, such as before and after a failure: ISPs that are gone, ends lost.

    An end is lost that was reached before, was tried again, and was not reached any more.
    """
    return {
        "gone": _ask(_GONE, by, before=before, after=after),
        "lost": _ask(_LOST, by, before=before, after=after),
    }


def totals(routes: pa.Table) -> Row:
    """All routes together: how many have a certain ISP, a doubtful one, none and why."""
    by_reason = {r.name.lower(): 0 for r in Reason if r is not Reason.FOUND}
    for row in _ask(_REASONS, (), routes=routes):
        by_reason[row["reason"]] = row["routes"]
    found = _ask(_TABLE, (), routes=routes)
    return {**(found[0] if found else {"routes": 0}), "by_reason": by_reason}


def _ask(query: str, by: Sequence[str], **tables: pa.Table) -> list[Row]:
    # Without keys, all rows are of one place.
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
