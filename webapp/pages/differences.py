"""From two versions of a table to what a page shows: the largest change, and a grid of all."""

from typing import Any
from urllib.parse import urlencode

from django.urls import get_script_prefix

from webapp.pages import words
from webapp.pages.grids import COMPARED, Cell, Column, Grid, Row, key_cell
from webapp.pages.headings import LABELS
from webapp.store.comparisons import TableChange


def encode(values: dict[str, str]) -> str:
    """A query string."""
    return urlencode(values)


def main_measure(change: TableChange) -> str:
    """The column that a table is about: the share that is compared elsewhere, else a count."""
    known = COMPARED.get(change.table_id, "")
    if known in change.measures:
        return known
    shares = [m for m in change.measures if m.endswith("share")]
    return next(iter([*shares, *change.measures]), "")


def summary(change: TableChange, before: str, after: str) -> dict[str, Any]:
    """The line of a table in the list of all: both n, rows that changed, the largest change."""
    measure = main_measure(change)
    moved = [r for r in change.rows if r.get(f"{measure}_change")]
    largest = max(moved, key=lambda r: abs(r[f"{measure}_change"]), default=None)
    return {
        "table_id": change.table_id,
        "title": change.title,
        "n_before": change.n_before,
        "n_after": change.n_after,
        "changed": sum(_is_changed(r, change) for r in change.rows),
        "rows": len(change.rows),
        "largest": _largest(largest, measure, change) if largest else None,
        "measure": LABELS.get(measure, measure),
        "data": f"{get_script_prefix()}api/v1/compare/{before}/{after}/tables/{change.table_id}",
    }


def _is_changed(row: dict[str, Any], change: TableChange) -> bool:
    pairs = ((row[f"{m}_before"], row[f"{m}_after"]) for m in change.measures)
    return any(before != after for before, after in pairs)


def _largest(row: dict[str, Any], measure: str, change: TableChange) -> dict[str, Any]:
    keys = [key for key in change.keys if not _is_merged(key, change)]
    cells = [key_cell(key, row, "") for key in keys]
    named = [_named(key, cell) for key, cell in zip(keys, cells, strict=True)]
    is_share = measure.endswith("share")
    tags = next((c.tags for c in cells if c.tags), ())
    return {
        "name": " ".join(named),
        "tags": tags,
        "before": _said(row[f"{measure}_before"], is_share),
        "after": _said(row[f"{measure}_after"], is_share),
        "change": words.change(row[f"{measure}_change"], of_shares=is_share),
    }


def _named(key: str, cell: Cell) -> str:
    """A number alone says nothing: ``Regions: 2``."""
    return f"{LABELS.get(key, key)} {cell.text}" if cell.kind == "count" else cell.text


def _is_merged(key: str, change: TableChange) -> bool:
    """Whether the provider stands as a letter beside what it qualifies."""
    return key == "provider" and bool({"region", "feature", "target"} & set(change.keys))


def _said(value: Any, is_share: bool) -> str:
    if isinstance(value, str):
        return value
    return words.share(value) if is_share else words.count(value)


def grid_of(change: TableChange, slug: str) -> Grid:
    """All rows with before, after and change of the measures that matter most."""
    keys = [k for k in change.keys if not _is_merged(k, change)]
    shown = _shown(change)
    columns = [Column(k, LABELS.get(k, k)) for k in keys]
    for measure in shown:
        label = LABELS.get(measure, measure)
        columns += [
            Column(f"{measure}_before", f"{label}, before", numeric=True, muted=True),
            Column(f"{measure}_after", f"{label}, after", numeric=True),
            Column(f"{measure}_change", "Change", numeric=True),
        ]
    rows = tuple(
        Row((*(key_cell(k, r, slug) for k in keys), *(c for m in shown for c in _cells(m, r))))
        for r in change.rows
    )
    return Grid(f"change-{change.table_id}", change.title, tuple(columns), rows)


def _shown(change: TableChange) -> list[str]:
    """The first count and the share that the table is about; the export holds every column."""
    main = main_measure(change)
    counts = [m for m in change.measures if not m.endswith("share") and m != main]
    wanted = [*counts[:1], main]
    return [m for m in wanted if m]


def _cells(measure: str, row: dict[str, Any]) -> tuple[Cell, Cell, Cell]:
    is_share = measure.endswith("share")
    before, after = row[f"{measure}_before"], row[f"{measure}_after"]
    moved = row[f"{measure}_change"]
    text = words.change(moved, of_shares=is_share)
    if moved is None and before != after:
        text = "new" if before is None else "gone" if after is None else "changed"
    return (
        Cell(_said(before, is_share), -1 if before is None else before, "muted"),
        Cell(_said(after, is_share), -1 if after is None else after, "count"),
        Cell(text, moved if moved is not None else "", f"count change change--{_way(moved)}"),
    )


def _way(moved: Any) -> str:
    return "none" if not moved else "up" if moved > 0 else "down"
