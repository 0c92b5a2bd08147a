"""Each table's own consistency check; runs on every report.

The rules are those by which the published tables can be checked too: classes sum to totals,
region uses equal names times their mean number of regions, cumulative shares end at one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from analysis.reporting.registry import TABLE_BY_ID
from analysis.reporting.tables.report_table import (
    ROUNDING,
    TOLERANCE,
    Check,
    Row,
    Rows,
    same_share,
    totals_of,
)
from core.report_tables import SPECS, Table, share

_SUMMED = ("providers", "name-servers")


def check_tables(tables: Mapping[str, Table]) -> list[str]:
    """What does not add up, as ``table: reason``; empty when all is consistent."""
    misshapen = list(_check_shapes(tables))
    if misshapen:
        return misshapen
    rows = {
        table_id: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table_id, table in tables.items()
    }
    return [complaint for check in _checks() for complaint in check(rows)]


def _check_shapes(tables: Mapping[str, Table]) -> Iterator[str]:
    for spec in SPECS:
        table = tables.get(spec.id)
        if table is None:
            yield f"{spec.id}: the table is missing"
        elif table.columns != spec.columns or any(len(r) != len(spec.columns) for r in table.rows):
            yield f"{spec.id}: the columns are not those agreed"
        elif spec.id in _SUMMED and (not table.rows or table.rows[-1][0] != "total"):
            yield f"{spec.id}: the total is missing"


def _check_distributions(rows: Rows) -> Iterator[str]:
    for table_id, group, column in _distributions():
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows[table_id]:
            groups[row[group] if group else "all"].append(row)
        for name, own in groups.items():
            yield from (f"{table_id}: {complaint}" for complaint in _check_curve(name, own, column))


def _check_curve(name: str, rows: list[Row], column: str) -> Iterator[str]:
    whole, running = sum(r[column] for r in rows), 0
    for row in rows:
        running += row[column]
        if not same_share(row["cumulative_share"], share(running, whole), TOLERANCE):
            yield f"the cumulative share of {name} is {row['cumulative_share']} at {running}"
    end = rows[-1]["cumulative_share"]
    if whole and not same_share(end, 1, TOLERANCE):
        yield f"the cumulative share of {name} ends at {end}, not 1"


def _check_populations(rows: Rows) -> Iterator[str]:
    """No distribution may hold more than the provider table knows."""
    totals = totals_of(rows)
    for table_id, group, column in _distributions():
        held: Counter[str] = Counter()
        for row in rows[table_id]:
            held[row[group] if group == "provider" else ""] += row[column]
        for provider, n in held.items():
            most = totals["aws" if group == "feature" else provider][column]
            # A name has one label of a feature, but may have both features.
            if n > most * (2 if group == "feature" else 1):
                yield f"{table_id}: {n} {column} of {provider or 'all'} are more than all {most}"


def _check_parts(rows: Rows) -> Iterator[str]:
    for table in TABLE_BY_ID.values():
        for part, column, whole in table.shares:
            for row in rows[table.id]:
                is_share = same_share(row[column], share(row[part], row[whole]), ROUNDING)
                if row[part] > row[whole] or not is_share:
                    of = f"{row[part]} in {row[whole]}"
                    yield f"{table.id}: {row[column]} is not the share of {of}"


def _distributions() -> Iterator[tuple[str, str, str]]:
    """Yield table, column of the group and column of the count."""
    for table in TABLE_BY_ID.values():
        if table.distribution:
            yield table.id, *table.distribution


def _checks() -> Iterator[Check]:
    for table in TABLE_BY_ID.values():
        yield from table.checks
    yield from (_check_distributions, _check_populations, _check_parts)
