"""The published figures of 2013, for comparison."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.tables import SPEC_BY_ID, Table

PATH = Path(__file__).resolve().parent.parent / "fixtures" / "published" / "imc2013.toml"


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    return tomllib.loads(PATH.read_text())


def published(table_id: str) -> Table | None:
    """The published rows of a table in our columns, if any; unknown cells are ``None``."""
    entry = _document().get(table_id)
    if entry is None:
        return None
    spec = SPEC_BY_ID[table_id]
    columns = entry["columns"]
    rows = []
    for cells in entry["rows"]:
        known = dict(zip(columns, cells, strict=True))
        rows.append(tuple(known.get(c) for c in spec.columns))
    return Table(spec.id, spec.columns, tuple(rows), entry.get("n", 0))
