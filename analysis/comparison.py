"""A survey's tables beside the published ones, cell by cell: agreeing, differing, or set apart.

A cell that its own source contradicts is set apart with the reason: there the survey's figure,
which adds up, is the one to read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from analysis.published import contradictions, printed_units, published
from core.tables import SPECS, Table

T = TypeVar("T")
# The relative difference up to which a cell agrees, where rounding in print does not allow more.
TOLERANCE = 0.005
AGREES, DIFFERS, MISSING, CONTRADICTED = "agrees", "differs", "missing", "contradicted"
# What names a row, by table; all other published cells are compared.
KEYS: Mapping[str, tuple[str, ...]] = {
    "providers": ("class",),
    "patterns": ("provider", "feature"),
    "regions": ("provider", "region"),
    "region-counts": ("provider", "regions"),
    "domain-region-means": ("provider", "mean_at_most"),
    "instance-counts": ("feature", "instances"),
    "name-servers": ("location",),
    "name-server-counts": ("name_servers",),
    "top-domains": ("domain",),
    "top-features": ("domain",),
    "top-regions": ("domain",),
    "zone-usage": ("provider", "region", "zone"),
    "zone-counts": ("provider", "zones"),
    "domain-zone-means": ("provider", "mean_at_most"),
    "top-zones": ("domain",),
    "elb-sharing": ("names_at_most",),
    "customers": ("basis", "reading"),
    "text-figures": ("figure",),
}
# Named domains have their published size at every scale.
_NAMED = ("top-domains", "top-features", "top-regions", "top-zones")
# At other scales these stay as they are; all else but shares is a count of the list.
_UNSCALED = ("rank", "regions", "zones")
# What a plain ``share`` is a share of.
_COUNTED = ("name_servers", "subdomains", "domains")


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A published cell beside the survey's; ``difference`` is relative, ``why`` a contradiction."""

    table_id: str
    row: str
    column: str
    published: float
    ours: float | None
    difference: float | None
    verdict: str
    why: str = ""


def compare_tables(
    tables: Mapping[str, Table], scale: Fraction = Fraction(1)
) -> list[ComparedCell]:
    """Every published cell; counts are expected to be ``scale`` times the published ones."""
    return [
        cell
        for spec in SPECS
        if spec.id in KEYS and spec.id in tables
        for cell in _compare(tables[spec.id], scale)
    ]


def _compare(table: Table, scale: Fraction) -> Iterator[ComparedCell]:
    was = published(table.id)
    if was is None:
        return
    if table.id in _NAMED:
        scale = Fraction(1)
    keys = KEYS[table.id]
    ours = {_key(row, keys): row for row in _rows(table)}
    ours |= _steps(table, was, keys)
    for before in _rows(was):
        key = _key(before, keys)
        for column, value in before.items():
            if column not in keys and value is not None and value != "":
                found = ours.get(key, {}).get(column)
                one = _share_of_one(before, column, scale) if scale != 1 else 0.0
                yield _cell(table.id, key, column, (float(value), found, one), scale)


def _share_of_one(row: Mapping[str, Any], column: str, scale: Fraction) -> float:
    """How much of a share one more of what it counts is, where counts are small and whole."""
    beside = column.removesuffix("_share") if column.endswith("_share") else ""
    counted = row.get(beside) or next((row[c] for c in _COUNTED if row.get(c)), 0)
    if not column.endswith("share") or not counted or column == "cumulative_share":
        return 0.0
    return float(row[column]) / (float(counted) * float(scale))


def _steps(table: Table, was: Table, keys: tuple[str, ...]) -> dict[Any, dict[str, Any]]:
    """What a cumulative curve is at published places between its own: what it was before."""
    if "cumulative_share" not in was.columns:
        return {}
    found: dict[Any, dict[str, Any]] = {}
    for place in _rows(was):
        *group, at = _key(place, keys)
        same = [r for r in _rows(table) if list(_key(r, keys)[:-1]) == group]
        below = [r for r in same if r[keys[-1]] <= at]
        if below and all(r[keys[-1]] != at for r in same):
            found[*group, at] = {"cumulative_share": below[-1]["cumulative_share"]}
    return found


def _rows(table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _key(row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[k] for k in keys)


def _cell(
    table_id: str,
    key: tuple[Any, ...],
    column: str,
    values: tuple[float, Any, float],
    scale: Fraction,
) -> ComparedCell:
    value, found, one = values
    counts = not column.endswith("share") and column not in _UNSCALED
    expected = value * float(scale) if counts else value
    ours = None if found is None else float(found)
    row = " ".join(str(k) for k in key)
    why = _for_cell(contradictions(table_id), row, column, "")
    if ours is None:
        return ComparedCell(table_id, row, column, expected, None, None, MISSING, why)
    difference = _relative(ours - expected, expected)
    unit = _for_cell(printed_units(table_id), row, column, 0.0)
    # A count at another scale is whole, so it may be one off.
    whole = 1.0 if counts and scale != 1 else one
    rounding = unit / 2 * (float(scale) if counts else 1)
    allowed = max(abs(expected) * TOLERANCE, rounding, whole)
    fits = abs(ours - expected) <= allowed * (1 + 1e-9)
    verdict = CONTRADICTED if why else AGREES if fits else DIFFERS
    return ComparedCell(table_id, row, column, expected, ours, difference, verdict, why)


def _for_cell(listed: Mapping[tuple[str, str], T], row: str, column: str, default: T) -> T:
    return listed.get((row, column), listed.get(("", column), default))


def _relative(gap: float, expected: float) -> float | None:
    if not expected:
        return 0.0 if not gap else None
    return gap / expected
