"""What each share of a report table is a share of, row by row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
# Columns that hold the whole themselves, by the column of the share.
_BESIDE = {
    "only_here_share": ("subdomains",),
    "known_share": ("subdomains",),
    "other_country_share": ("known", "subdomains"),
    "other_continent_share": ("known", "subdomains"),
}
_COUNTED = ("subdomains", "domains", "name_servers", "elb_ips")
# Columns that name the population of a row; other tables have one.
_GROUPS = ("provider", "feature")


def wholes(columns: Sequence[str], rows: Sequence[Row]) -> list[dict[str, int | None]]:
    """Map, row by row, each share column to its denominator; ``None`` where the table has none."""
    shares = [c for c in columns if c.endswith("share")]
    group = next((c for c in _GROUPS if c == columns[0]), "") if columns else ""
    found: list[dict[str, int | None]] = [{} for _ in rows]
    for column in shares:
        for place, whole in zip(found, _of_column(column, columns, rows, group), strict=True):
            place[column] = whole
    return found


def _of_column(
    column: str, columns: Sequence[str], rows: Sequence[Row], group: str
) -> list[int | None]:
    if column == "share" and "whole" in columns:
        return [row["whole"] for row in rows]
    beside = next((c for c in _BESIDE.get(column, ()) if c in columns), "")
    if beside:
        return [row[beside] for row in rows]
    if "cumulative_share" in columns:
        return _of_distribution(columns, rows, group)
    counted = column.removesuffix("_share")
    # A column called "share" alone has no count of the same name.
    if counted == column or counted not in columns:
        counted = next((c for c in _COUNTED if c in columns), "")
    if counted in ("", "bytes"):  # a small number of bytes is not a small sample
        return [None] * len(rows)
    return _of_parts(counted, column, rows, group)


def _of_distribution(columns: Sequence[str], rows: Sequence[Row], group: str) -> list[int | None]:
    """Classes of a distribution add up to the whole."""
    counted = next((c for c in reversed(columns) if c in _COUNTED), "")
    sums: dict[Any, int] = defaultdict(int)
    for row in rows:
        sums[row.get(group)] += row[counted] or 0 if counted else 0
    return [sums[row.get(group)] if counted else None for row in rows]


def _of_parts(counted: str, column: str, rows: Sequence[Row], group: str) -> list[int | None]:
    """A count and its share give the whole, which rows of one population have in common."""
    known: dict[Any, int] = {}
    for row in rows:
        if row[counted] and row[column]:
            known.setdefault(row.get(group), round(row[counted] / row[column]))
    return [0 if row[column] is None else known.get(row.get(group)) for row in rows]
