"""Differences of two versions of a table: the largest change, and a grid of all rows."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.urls import get_script_prefix

from core.denominators import wholes
from core.wording import SMALL
from webapp.pages.ui import formatting
from webapp.pages.ui.headings import LABELS
from webapp.pages.ui.table_page import COMPARED, Cell, Column, Grid, Row, key_cell
from webapp.store.surveys.comparison import TableChange

Wholes = dict[str, int | None]
_SIDES = ("before", "after")


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
    return {
        "table_id": change.table_id,
        "title": change.title,
        "n_before": change.n_before,
        "n_after": change.n_after,
        "changed": sum(_is_changed(r, change) for r in change.rows),
        "rows": len(change.rows),
        "largest": largest_change(change),
        "measure": LABELS.get(measure, measure),
        "data": f"{get_script_prefix()}api/v1/compare/{before}/{after}/tables/{change.table_id}",
    }


def largest_change(change: TableChange) -> dict[str, Any] | None:
    """Return the row of the largest change with both values; ``None`` where none changed."""
    measure = main_measure(change)
    moved = [r for r in change.rows if r.get(f"{measure}_change")]
    largest = max(moved, key=lambda r: abs(r[f"{measure}_change"]), default=None)
    return _largest(largest, measure, change) if largest else None


def _is_changed(row: dict[str, Any], change: TableChange) -> bool:
    pairs = ((row[f"{m}_before"], row[f"{m}_after"]) for m in change.measures)
    return any(before != after for before, after in pairs)


def _largest(row: dict[str, Any], measure: str, change: TableChange) -> dict[str, Any]:
    keys = [key for key in change.keys if not _is_merged(key, change)]
    cells = [key_cell(key, row, "") for key in keys]
    named = [_named(key, cell) for key, cell in zip(keys, cells, strict=True)]
    tags = next((c.tags for c in cells if c.tags), ())
    number = change.rows.index(row)
    wholes = {side: _wholes(change, side)[number] for side in _SIDES}
    before, after, moved = _texts(row, measure, wholes)
    name = " ".join(named)
    return {"name": name, "tags": tags, "before": before, "after": after, "change": moved}


def _named(key: str, cell: Cell) -> str:
    """Name a numeric key by its column: ``Regions: 2``."""
    return f"{LABELS.get(key, key)} {cell.text}" if cell.kind == "count" else cell.text


def _is_merged(key: str, change: TableChange) -> bool:
    """Whether the provider is shown as a letter next to the value."""
    return key == "provider" and bool({"region", "feature", "target"} & set(change.keys))


def _wholes(change: TableChange, side: str) -> list[Wholes]:
    """What each share of one side is a share of, row by row."""
    rows = [
        {k: r[k] for k in change.keys} | {m: r[f"{m}_{side}"] for m in change.measures}
        for r in change.rows
    ]
    return wholes((*change.keys, *change.measures), rows)


def _texts(row: dict[str, Any], measure: str, of: dict[str, Wholes]) -> tuple[str, str, str]:
    """A measure before and after, and its change: no points of a share of few."""
    texts = [_cell_text(row, f"{measure}_{side}", of[side].get(measure)) for side in _SIDES]
    is_share = measure.endswith("share")
    few = [n for n in (of[side].get(measure) for side in _SIDES) if n is not None and n < SMALL]
    if is_share and few and row[f"{measure}_change"]:
        return texts[0], texts[1], "more" if row[f"{measure}_change"] > 0 else "less"
    return texts[0], texts[1], formatting.change(row[f"{measure}_change"], of_shares=is_share)


def _cell_text(row: dict[str, Any], column: str, whole: int | None) -> str:
    value = row[column]
    if isinstance(value, str):
        return value
    is_share = column.rpartition("_")[0].endswith("share")
    # A row that one survey has not is not a share of nothing.
    return (
        formatting.share_of(value, whole)
        if is_share and value is not None
        else formatting.count(value)
    )


def difference_grid(change: TableChange, slug: str) -> Grid:
    """All rows with before, after and change of two measures; phones show those of the second."""
    keys = [k for k in change.keys if not _is_merged(k, change)]
    shown = _shown(change)
    spare = {"kind"} if "target" in keys else set()
    columns = [Column(k, LABELS.get(k, k), is_spare=k in spare) for k in keys]
    for measure in shown:
        label, is_spare = LABELS.get(measure, measure), measure != shown[-1]
        if measure.endswith("share"):
            label = "Share"  # the page states of what
        columns += [
            Column(f"{measure}_before", f"{label}, before", True, muted=True, is_spare=is_spare),
            Column(f"{measure}_after", f"{label}, after", True, is_spare=is_spare),
            Column(f"{measure}_change", "Change", True, is_spare=is_spare),
        ]
    known = zip(*(_wholes(change, side) for side in _SIDES), strict=True)
    rows = tuple(
        Row(
            (
                *(replace(key_cell(k, r, slug), is_spare=k in spare) for k in keys),
                *(
                    replace(c, is_spare=m != shown[-1])
                    for m in shown
                    for c in _cells(m, r, dict(zip(_SIDES, of, strict=True)))
                ),
            )
        )
        for r, of in zip(change.rows, known, strict=True)
    )
    return Grid(f"change-{change.table_id}", change.title, tuple(columns), rows)


def _shown(change: TableChange) -> list[str]:
    """The first count and the share that the table is about; the export holds every column."""
    main = main_measure(change)
    counts = [m for m in change.measures if not m.endswith("share") and m != main]
    wanted = [*counts[:1], main]
    return [m for m in wanted if m]


def _cells(measure: str, row: dict[str, Any], of: dict[str, Wholes]) -> tuple[Cell, Cell, Cell]:
    before, after = row[f"{measure}_before"], row[f"{measure}_after"]
    moved = row[f"{measure}_change"]
    was, now, text = _texts(row, measure, of)
    if moved is None and before != after:
        text = "new" if before is None else "gone" if after is None else "changed"
    return (
        Cell(was, -1 if before is None else before, "muted"),
        Cell(now, -1 if after is None else after, "count"),
        Cell(text, moved if moved is not None else "", f"count change change--{_direction(moved)}"),
    )


def _direction(moved: Any) -> str:
    return "none" if not moved else "up" if moved > 0 else "down"
