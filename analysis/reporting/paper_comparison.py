"""A survey's tables beside the published ones, cell by cell: agreeing, differing, or set apart.

A cell that its own source contradicts is set apart with the reason: there the survey's figure,
which adds up, is the one to read. Below scale 1/1 a cell may differ for two reasons, which explain
it with figures: domains that a world keeps at their published size
(``analysis.reporting.expected_values``), and the few domains that are left of the others
(``analysis.reporting.sampling_error``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from analysis.reporting import sampling_error
from analysis.reporting.expected_values import Part, Parts, expected_count, expected_share
from analysis.reporting.published import contradictions, printed_units, published
from core.report_tables import SPECS, Table

T = TypeVar("T")
# The relative difference up to which a cell agrees, where rounding in print does not allow more.
TOLERANCE = 0.005
AGREES, DIFFERS, MISSING, CONTRADICTED = "agrees", "differs", "missing", "contradicted"
EXPLAINED = "explained"
# What names a row, by published table; all other published cells are compared.
KEYS: Mapping[str, tuple[str, ...]] = {s.id: s.keys for s in SPECS if published(s.id)}
# Named domains have their published size at every scale.
_NAMED = ("top-domains", "top-features", "top-regions", "top-zones")
# At other scales these stay as they are; all else but shares is a count of the list.
_UNSCALED = ("rank", "regions", "zones")
# What a plain ``share`` is a share of.
_COUNTED = ("name_servers", "subdomains", "domains")


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A published cell, at the scale, beside the survey's; ``difference`` is relative.

    ``named`` is what the named domains have of the survey's count, or of the count that a share
    is, and ``expected`` the cell with these at their published size; both are ``None`` where the
    whole survey is at scale 1/1. ``why`` is the reason of a contradiction or an explanation.
    """

    table_id: str
    row: str
    column: str
    published: float
    ours: float | None
    difference: float | None
    verdict: str
    why: str = ""
    named: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class SmallWorld:
    """What explains differences below scale 1/1: the tables of those domains alone that keep their
    published size, and the populations that cells count parts of."""

    named: Mapping[str, Table]
    populations: Mapping[str, sampling_error.Population]


def compare_tables(
    tables: Mapping[str, Table], scale: Fraction = Fraction(1), small: SmallWorld | None = None
) -> list[ComparedCell]:
    """Every published cell; counts are expected to be ``scale`` times the published ones."""
    return [
        cell
        for spec in SPECS
        if spec.id in KEYS and spec.id in tables
        for cell in _compare(tables[spec.id], scale, small)
    ]


def _compare(table: Table, scale: Fraction, small: SmallWorld | None) -> Iterator[ComparedCell]:
    was = published(table.id)
    if was is None:
        return
    if table.id in _NAMED:
        scale, small = Fraction(1), None
    keys = KEYS[table.id]
    ours = {_key(row, keys): row for row in _rows(table)}
    ours |= _steps(table, was, keys)
    parts = Parts(table, small.named[table.id], keys) if small else None
    for before in _rows(was):
        key = _key(before, keys)
        for column, value in before.items():
            if column not in keys and value is not None and value != "":
                found = ours.get(key, {}).get(column)
                one = _share_of_one(before, column, scale) if scale != 1 else 0.0
                cell = _cell(table.id, key, column, (float(value), found, one), scale)
                part = parts.of(key, column) if parts else None
                if part and small:
                    cell = _with_named(cell, float(value), part, scale)
                    cell = _explained(cell, part, scale, one, small)
                yield cell


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
    expected = value * float(scale) if _is_count(column) else value
    ours = None if found is None else float(found)
    row = " ".join(str(k) for k in key)
    why = _for_cell(contradictions(table_id), row, column, "")
    if ours is None:
        return ComparedCell(table_id, row, column, expected, None, None, MISSING, why)
    difference = _relative(ours - expected, expected)
    cell = ComparedCell(table_id, row, column, expected, ours, difference, DIFFERS, why)
    fits = _fits(cell, expected, scale, one)
    return replace(cell, verdict=CONTRADICTED if why else AGREES if fits else DIFFERS)


def _is_count(column: str) -> bool:
    return not column.endswith("share") and column not in _UNSCALED


def _fits(cell: ComparedCell, expected: float, scale: Fraction, one: float) -> bool:
    """Return whether the survey's value is what is expected, up to the tolerance and rounding in
    print."""
    counts = _is_count(cell.column)
    unit = _for_cell(printed_units(cell.table_id), cell.row, cell.column, 0.0)
    # A count at another scale is whole, so it may be one off.
    whole = 1.0 if counts and scale != 1 else one
    rounding = unit / 2 * (float(scale) if counts else 1)
    allowed = max(abs(expected) * TOLERANCE, rounding, whole)
    return cell.ours is not None and abs(cell.ours - expected) <= allowed * (1 + 1e-9)


def _with_named(cell: ComparedCell, value: float, part: Part, scale: Fraction) -> ComparedCell:
    expect = expected_count if _is_count(cell.column) else expected_share
    return replace(cell, named=part.count, expected=expect(value, part, scale))


def _explained(
    cell: ComparedCell, part: Part, scale: Fraction, one: float, small: SmallWorld
) -> ComparedCell:
    """The cell with the reason for which it differs, if there is one."""
    if cell.verdict != DIFFERS or cell.ours is None or cell.expected is None:
        return cell
    if _fits(cell, cell.expected, scale, one):
        return replace(cell, verdict=EXPLAINED, why=_by_named(cell, part))
    values = (cell.expected, cell.ours)
    why = sampling_error.explanation(
        cell.table_id, cell.row, cell.column, values, small.populations
    )
    return replace(cell, verdict=EXPLAINED, why=why) if why else cell


def _by_named(cell: ComparedCell, part: Part) -> str:
    counts, expected = _is_count(cell.column), cell.expected or 0.0
    whole = "" if counts else f", and {part.whole:,.0f} of all {part.of_whole:,.0f}"
    return (
        f"the named domains keep their published size: {part.count:,.0f} of these "
        f"{part.of:,.0f}{whole}; with them {_plain(expected, counts)} are expected"
    )


def _plain(value: float, counts: bool) -> str:
    return f"{value:,.1f}" if counts else f"{value:.2%}"


def _for_cell(listed: Mapping[tuple[str, str], T], row: str, column: str, default: T) -> T:
    return listed.get((row, column), listed.get(("", column), default))


def _relative(gap: float, expected: float) -> float | None:
    if not expected:
        return 0.0 if not gap else None
    return gap / expected
