"""Compute the tables of all probe reports, and the suitability of each pair, with DuckDB."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa

from analysis.campaigns.importers.csv_columns import Source, column_names
from analysis.campaigns.probe_reports.probe_report import (
    VALUES,
    Limit,
    ProbeReport,
    Share,
    Statistic,
)
from analysis.campaigns.probe_reports.registry import REPORTS

log = logging.getLogger(__name__)
SUITABILITY = "suitability"
MEMORY = "2GB"
_NEEDED = {"vantage", "region", "zone", "at", "probe", "sent", "values", "detail"}
# The columns of each grouping; others are empty, and -1 as an hour.
_GROUPINGS = {
    "region": ("region",),
    "zone": ("region", "zone"),
    "hour": ("region", "hour"),
    "vantage": ("region", "vantage"),
}
_EMPTY = {"region": "''", "zone": "''", "vantage": "''", "hour": "-1"}
_NAMES = ", ".join(_EMPTY)
# Two-sided 95 % quantile of the normal distribution.
_Z = 1.96
# Fewer values have no 95 % interval of the median by order statistics.
_LEAST = 6


def build_probe_tables(
    source: Source, reports: Sequence[ProbeReport] = REPORTS
) -> dict[str, pa.Table]:
    """Return a table per report with runs, and ``suitability``; other files give none."""
    columns = set(column_names(source))
    if _NEEDED - columns:
        return {}
    reports = [report for report in reports if columns.issuperset(report.columns)]
    with duckdb.connect(config={"threads": 1, "memory_limit": MEMORY}) as connection:
        _open(connection, source)
        counted = connection.sql("SELECT probe, count(*) FROM samples GROUP BY probe").fetchall()
        measured = [found for r in reports if (found := _with_present_probes(r, counted)).probes]
        runs = {r.id: sum(n for probe, n in counted if probe in r.probes) for r in measured}
        tables: dict[str, pa.Table] = {}
        for report in measured:
            if not report.max_runs or runs[report.id] <= report.max_runs:
                tables |= _try_report(connection, report)
        if any(r.limits for r in measured):
            tables[SUITABILITY] = connection.sql(_suitability_sql(measured)).to_arrow_table()
    return tables


def _with_present_probes(report: ProbeReport, counted: Iterable[tuple[str, int]]) -> ProbeReport:
    """Return a report of those of its probes that were run."""
    present = tuple(probe for probe, _ in counted if report.has_probe(probe or ""))
    return replace(report, probes=present)


def _open(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    if isinstance(source, pa.Table):
        connection.register("samples", source)
        return
    found = connection.read_parquet([str(path) for path in source])
    found.create_view("samples")


def _runs(report: ProbeReport) -> str:
    probes = ", ".join(f"'{p}'" for p in report.probes)
    texts = ", ".join(f"coalesce({n}, '') AS {n}" for n in ("vantage", "region", "zone"))
    return f"""(SELECT * REPLACE ({texts}),
coalesce(floor(epoch("at") / 3600)::BIGINT % 24, -1) AS hour
FROM samples WHERE probe IN ({probes}))"""


def _values(report: ProbeReport, statistic: Statistic) -> str:
    """Return SQL for one row per value: its keys, and ``value``."""
    sql = "unnest(values)" if statistic.sql == VALUES else statistic.sql
    return f"SELECT {_NAMES}, probe, {sql} AS value FROM {_runs(report)}"


def _try_report(connection: duckdb.DuckDBPyConnection, report: ProbeReport) -> dict[str, pa.Table]:
    """Return the table of a report; none, and a warning, where its values exceed ``MEMORY``."""
    try:
        return {report.id: _report(connection, report)}
    except duckdb.OutOfMemoryException as error:
        log.warning("no table %s: its values need more than %s: %s", report.id, MEMORY, error)
        return {}


def _report(connection: duckdb.DuckDBPyConnection, report: ProbeReport) -> pa.Table:
    """Compute a report by one grouping and statistic at a time: each holds all of its values."""
    found = []
    for statistic in report.statistics:
        cells = f"({_values(report, statistic)})"
        if statistic.sql != VALUES:
            # What is computed, such as numbers from JSON, is computed once for all groupings.
            connection.execute(f"CREATE OR REPLACE TEMP TABLE cells AS {cells}")
            cells = "cells"
        place = report.statistics.index(statistic)
        found += [
            connection.sql(_statistic_sql(statistic, place, grouping, cells)).to_arrow_table()
            for grouping in _GROUPINGS
        ]
    for place, share in enumerate(report.shares, len(report.statistics)):
        found += [
            connection.sql(_share_sql(report, share, place, grouping)).to_arrow_table()
            for grouping in _GROUPINGS
        ]
    connection.register("found", pa.concat_tables(found, promote_options="permissive"))
    totals = " UNION ALL ".join(_totals_sql(report, grouping) for grouping in _GROUPINGS)
    return connection.sql(f"""SELECT grouped_by, region, zone, vantage, nullif(hour, -1) AS hour,
statistic, unit, runs, sent, lost, n, p50, p50_low, p50_high, p95, share, share_low, share_high,
latest_at
FROM found JOIN ({totals}) USING (grouped_by, {_NAMES})
ORDER BY vantage, grouped_by, region, zone, hour, place""").to_arrow_table()


def _keys(grouping: str) -> str:
    own = _GROUPINGS[grouping]
    keys = (n if n in own else f"{empty} AS {n}" for n, empty in _EMPTY.items())
    return f"'{grouping}' AS grouped_by, {', '.join(keys)}"


def _totals_sql(report: ProbeReport, grouping: str) -> str:
    return f"""SELECT {_keys(grouping)}, count(*) AS runs, sum(sent)::BIGINT AS sent,
sum(sent - coalesce(len(values), 0))::BIGINT AS lost, max("at") AS latest_at
FROM {_runs(report)} GROUP BY {", ".join(_GROUPINGS[grouping])}"""


def _statistic_sql(statistic: Statistic, place: int, grouping: str, cells: str) -> str:
    own = ", ".join(_GROUPINGS[grouping])
    low = f"greatest(1, floor((n - {_Z} * sqrt(n)) / 2))::BIGINT"
    high = f"least(n, ceil(1 + (n + {_Z} * sqrt(n)) / 2))::BIGINT"
    return f"""SELECT {_keys(grouping)}, {place} AS place,
'{statistic.name}' AS statistic, '{statistic.unit}' AS unit, n,
{_quantile(0.5)} AS p50, {_quantile(0.95)} AS p95,
CASE WHEN n >= {_LEAST} THEN sorted[{low}]::DOUBLE END AS p50_low,
CASE WHEN n >= {_LEAST} THEN sorted[{high}]::DOUBLE END AS p50_high
FROM (SELECT {own}, count(*) AS n, list_sort(list(value)) AS sorted
FROM {cells} WHERE value IS NOT NULL GROUP BY {own})"""


def _share_sql(report: ProbeReport, share: Share, place: int, grouping: str) -> str:
    own = ", ".join(_GROUPINGS[grouping])
    low, high = _wilson("share", "n")
    return f"""SELECT *, {low} AS share_low, {high} AS share_high
FROM (SELECT *, hits / n AS share FROM (SELECT {_keys(grouping)}, {place} AS place,
'{share.name}' AS statistic, '%' AS unit, sum({share.trials})::BIGINT AS n,
sum(greatest(0, {share.hits})) AS hits
FROM {_runs(report)} WHERE ({share.trials}) IS NOT NULL GROUP BY {own}) WHERE n > 0)"""


def _wilson(share: str, n: str) -> tuple[str, str]:
    """Return SQL for the ends of Wilson's 95 % interval of a share of ``n`` trials."""
    z2 = _Z * _Z
    half = f"{_Z} * sqrt({share} * (1 - {share}) / {n} + {z2} / (4 * {n} * {n}))"
    middle, whole = f"{share} + {z2} / (2 * {n})", f"(1 + {z2} / {n})"
    return (
        f"greatest(0, ({middle} - {half}) / {whole})",
        f"least(1, ({middle} + {half}) / {whole})",
    )


def _quantile(share: float) -> str:
    """Return SQL for a quantile of ``n`` sorted values, linear between neighbours."""
    place = f"((n - 1) * {share}::DOUBLE)"
    below, above = (f"sorted[{edge}({place})::BIGINT + 1]::DOUBLE" for edge in ("floor", "ceil"))
    return f"{below} + ({place} - floor({place})) * ({above} - {below})"


def _suitability_sql(reports: Iterable[ProbeReport]) -> str:
    """Return SQL for the verdict of each pair and use, by Wilson's 95 % interval of the share."""
    found = " UNION ALL ".join(_limit_sql(r, limit) for r in reports for limit in r.limits)
    low, high = _wilson("share", "n")
    return f"""SELECT vantage, region, "use", probe, n, within, share, low, high, required,
CASE WHEN low >= required THEN 'yes' WHEN high < required THEN 'no' ELSE 'undecided' END AS verdict,
latest_at, rule, source FROM (SELECT *, {low} AS low, {high} AS high
FROM (SELECT *, within / n AS share FROM ({found}) WHERE n > 0))
ORDER BY vantage, region, "use", probe"""


def _limit_sql(report: ProbeReport, limit: Limit) -> str:
    """Return SQL for the number of values of each pair and probe, and of those within a limit.

    It reads the runs once: of large campaigns this is most of the cost of all tables.
    """
    statistic = next(s for s in report.statistics if s.name == limit.statistic)
    if statistic.sql == VALUES:
        whole, value = "sum(sent)", "NULL"
        within = f"sum(len(list_filter(values, lambda value: {limit.condition})))"
    else:
        whole, value = "count(*)", statistic.sql
        within = f"count(*) FILTER ({limit.condition})"
    # A constant makes a shorter key of each group.
    probe = f"'{report.probes[0]}' AS probe" if len(report.probes) == 1 else "probe"
    texts = ", ".join(f"'{text}' AS {name}" for name, text in _texts(limit))
    return f"""SELECT vantage, region, {probe}, {whole}::BIGINT AS n,
coalesce({within}, 0)::BIGINT AS within, max("at") AS latest_at,
{limit.share}::DOUBLE AS required, {texts}
FROM (SELECT *, {value} AS value FROM {_runs(report)}) GROUP BY ALL"""


def _texts(limit: Limit) -> tuple[tuple[str, str], ...]:
    quoted = (
        (n, t.replace("'", "''")) for n, t in (("rule", limit.rule), ("source", limit.source))
    )
    return (('"use"', limit.use), *quoted)
