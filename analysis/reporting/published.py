"""The published figures of 2013, for comparison."""

import tomllib
from functools import lru_cache
from typing import Any

from core.paths import FIXTURES
from core.report_tables import SPEC_BY_ID, Cell, Table

PATH = FIXTURES / "published" / "imc2013.toml"


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return tomllib.loads(PATH.read_text(encoding="utf-8"))


def published(table_id: str) -> Table | None:
    """The published rows of a table in our columns, if any; unknown cells are ``None``."""
    entry = _document().get(table_id)
    if entry is None:
        return None
    spec = SPEC_BY_ID[table_id]
    rows = tuple(_row(spec.columns, entry["columns"], cells) for cells in entry["rows"])
    return Table(spec.id, spec.columns, rows, entry["n"])


def published_source(table_id: str) -> str:
    """Where the published rows stand, and how they have to be read; empty where there are none."""
    entry = _document().get(table_id)
    return f"IMC'13, {entry['source']}; {entry['reading']}" if entry else ""


def printed_units(table_id: str) -> dict[tuple[str, str], float]:
    """The last printed place of cells that were rounded for print, such as 0.001.

    By (row in words, column); an empty row represents all.
    """
    listed = _document().get(table_id, {}).get("rounded", [])
    return {(entry.get("row", ""), entry["column"]): entry["unit"] for entry in listed}


def contradictions(table_id: str) -> dict[tuple[str, str], str]:
    """Why a cell cannot be met as printed, by (row in words, column); an empty row: all."""
    listed = _document().get(table_id, {}).get("contradicted", [])
    return {(entry.get("row", ""), entry["column"]): entry["why"] for entry in listed}


def _row(columns: tuple[str, ...], given: list[str], cells: list[Cell]) -> tuple[Cell, ...]:
    # TOML has no null, so the file writes an unknown cell as an empty text.
    known = dict(zip(given, cells, strict=True))
    return tuple(None if known.get(c) == "" else known.get(c) for c in columns)
