"""Each table's own consistency check; runs on every report."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from core.tables import Table

_TOLERANCE = 2e-5  # shares are rounded to six decimals, and some checks add many of them
_CUMULATIVE = (
    "region-counts",
    "domain-region-means",
    "instance-counts",
    "name-server-counts",
)


def check_tables(tables: Mapping[str, Table]) -> list[str]:
    """What does not add up, as ``table: reason``; empty when all is consistent."""
    found = [*_check_providers(tables["providers"]), *_check_servers(tables["name-servers"])]
    for table_id in _CUMULATIVE:
        found += _check_cumulative(tables[table_id])
    return found + _check_means(tables) + _check_patterns(tables)


def _cells(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _check_providers(table: Table) -> list[str]:
    rows = _cells(table)
    total = rows[-1]
    classes = [r for r in rows if not str(r["class"]).endswith("total")]
    return [
        f"providers: the {column} of all classes sum to {got}, not {total[column]}"
        for column in ("domains", "subdomains", "domains_cloud_only")
        if (got := sum(r[column] for r in classes)) != total[column]
    ]


def _check_servers(table: Table) -> list[str]:
    rows = _cells(table)
    got = sum(r["name_servers"] for r in rows[:-1])
    if got == rows[-1]["name_servers"]:
        return []
    return [f"name-servers: places sum to {got}, not {rows[-1]['name_servers']}"]


def _check_cumulative(table: Table) -> list[str]:
    last: dict[str, float] = {}
    for row in table.rows:
        key = str(row[0]) if isinstance(row[0], str) else ""
        last[key] = float(row[-1] or 0)
    return [
        f"{table.id}: the cumulative share of {key or 'all'} ends at {end}, not 1"
        for key, end in last.items()
        if abs(end - 1) > _TOLERANCE
    ]


def _check_means(tables: Mapping[str, Table]) -> list[str]:
    """Uses of regions must equal names times the mean number of regions."""
    uses: dict[str, int] = defaultdict(int)
    for row in _cells(tables["regions"]):
        uses[row["provider"]] += row["subdomains"]
    counted: dict[str, int] = defaultdict(int)
    for row in _cells(tables["region-counts"]):
        counted[row["provider"]] += row["regions"] * row["subdomains"]
    return [
        f"regions: {p} has {uses[p]} region uses, but {counted[p]} by the counts per name"
        for p in sorted({*uses, *counted})
        if uses[p] != counted[p]
    ]


def _check_patterns(tables: Mapping[str, Table]) -> list[str]:
    totals = {
        str(r["class"]).removesuffix(" total"): r["subdomains"] for r in _cells(tables["providers"])
    }
    return [
        f"patterns: {r['subdomains']} {r['provider']} names with {r['feature']} are more than all"
        for r in _cells(tables["patterns"])
        if r["subdomains"] > totals.get(r["provider"], 0)
    ]
