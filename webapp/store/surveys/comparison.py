"""Two surveys side by side: their tables from the store, their moved names once compared."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.report_tables import SPEC_BY_ID
from core.statuses import SurveyState
from lake.row_files import ParquetRows
from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import derived
from webapp.store.surveys.selectors import (
    Reference,
    ReportRow,
    SurveyRow,
    as_tables,
    reports,
    row_of,
)

Row = dict[str, Any]
# Dimensions in the order of the page.
DIMENSIONS = ("providers", "regions", "zones", "patterns")


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table of both surveys: a row holds its keys, then before, after and change by column."""

    table_id: str
    title: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    n_before: int
    n_after: int

    @property
    def columns(self) -> list[str]:
        """Columns of the exported table."""
        parts = [f"{m}_{part}" for m in self.measures for part in ("before", "after", "change")]
        return [*self.keys, *parts]

    @property
    def cells(self) -> list[list[Any]]:
        """Rows of the exported table."""
        return [[row[column] for column in self.columns] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What moved; ``flows`` of a dimension, the largest first, point into the moved names."""

    population: dict[str, int]
    sums: dict[str, dict[str, int]]
    flows: dict[str, list[Row]]
    members: dict[str, list[Row]]
    moves: ParquetRows

    def flow(self, dimension: str, before: str, after: str) -> Row | None:
        """One kind of move."""
        same = (
            f
            for f in self.flows.get(dimension, [])
            if f["before"] == before and f["after"] == after
        )
        return next(same, None)

    def names(self, flow: Row, first: int = 0, count: int | None = None) -> list[Row]:
        """Names that moved so, by the rank of their domain."""
        left = max(0, flow["names"] - first)
        return self.moves.rows(flow["first"] + first, left if count is None else min(count, left))

    def span(self, dimension: str) -> tuple[int, int]:
        """First row and number of rows of a dimension."""
        found = self.flows.get(dimension, [])
        return min((f["first"] for f in found), default=0), sum(f["names"] for f in found)


def table_changes(before: str, after: str) -> dict[str, TableChange]:
    """Every table that both surveys have, row by row."""
    old, new = reports(before), reports(after)
    return {key: table_change(old[key], new[key]) for key in new if key in old}


def table_change(old: ReportRow, new: ReportRow) -> TableChange:
    """One table of both surveys; a row that one of them lacks has nothing there."""
    keys = SPEC_BY_ID[new.table_id].keys
    measures = tuple(c for c in new.columns if c not in keys and c in old.columns)
    was, now = _by_key(old, keys), _by_key(new, keys)
    rows = tuple(
        dict(zip(keys, key, strict=True)) | _measured(measures, was.get(key), now.get(key))
        for key in [*now, *(k for k in was if k not in now)]
    )
    return TableChange(new.table_id, new.title, keys, measures, rows, old.n, new.n)


def earlier_surveys(slug: str, reader: Any, limit: int = 3) -> list[SurveyRow]:
    """Return finished surveys of the same list that ended before a survey, the newest first."""
    own = Survey.objects.filter(slug=slug).values("list_sha256", "finished_at").first()
    if not own or not own["finished_at"]:
        return []
    done = [str(SurveyState.FINISHED), str(SurveyState.PARTIAL)]
    same = Survey.objects.filter(list_sha256=own["list_sha256"], state__in=done)
    rows = visible(same.filter(finished_at__lt=own["finished_at"]), reader)
    return [row_of(found) for found in rows.order_by("-finished_at")[:limit]]


def compare_with(rows: Mapping[str, ReportRow], then: SurveyRow) -> dict[str, ReportRow]:
    """Return the tables with the figures of an earlier survey in place of published ones."""
    when = f"{then.finished_at.day} {then.finished_at:%b %Y}" if then.finished_at else then.name
    old, made = reports(then.slug), {}
    tables = as_tables(old.values())
    for key, row in rows.items():
        headline = old[key].headline if key in old else ""
        made[key] = replace(
            row,
            published=tables.get(key),
            reference=Reference(when, f"measured {when}", then.name, headline),
            contradicted=[],
        )
    return made


def change_since(row: ReportRow) -> TableChange | None:
    """Return the change from what a table is compared with; ``None`` where there is nothing."""
    if row.published is None or row.reference is None:
        return None
    was = row.published
    cells = [list(cells) for cells in was.rows]
    return table_change(replace(row, columns=list(was.columns), rows=cells, n=was.n), row)


def _by_key(report: ReportRow, keys: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    rows = [dict(zip(report.columns, cells, strict=True)) for cells in report.rows]
    return {tuple(row[k] for k in keys): row for row in rows}


def _measured(measures: Sequence[str], was: Row | None, now: Row | None) -> Row:
    made: Row = {}
    for name in measures:
        before, after = (side.get(name) if side else None for side in (was, now))
        made |= {f"{name}_before": before, f"{name}_after": after}
        made[f"{name}_change"] = _difference(before, after)
    return made


def _difference(before: Any, after: Any) -> Any:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (before, after))
    return round(after - before, 6) if numbers else None


def comparison(before: Survey, after: Survey) -> Comparison | None:
    """The moved names of two surveys, where they have been compared."""
    place = derived.comparison_of(before, after)
    return _open(place.folder) if place.is_ready else None


@lru_cache(maxsize=16)
def _open(folder: Path) -> Comparison:
    found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    flows: dict[str, list[Row]] = {dimension: [] for dimension in DIMENSIONS}
    first = 0
    for flow in sorted(found["flows"], key=lambda f: (f["dimension"], f["before"], f["after"])):
        flows[flow["dimension"]].append({**flow, "first": first})
        first += flow["names"]
    for rows in flows.values():
        rows.sort(key=lambda f: -f["names"])
    members: dict[str, list[Row]] = {dimension: [] for dimension in DIMENSIONS}
    for member in found["members"]:
        members[member["dimension"]].append(member)
    moves = ParquetRows(folder / "moves.parquet")
    return Comparison(found["population"], found["sums"], flows, members, moves)
