from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.reporting.survey_tables import compute_tables
from core.report_tables import Table
from tests.analysis.deployment.world_cast import (
    CAST,
    CUSTOMERS,
    SURVEY,
    ZONES,
    Domain,
    write_lake,
)


@pytest.fixture(scope="session")
def cast_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the whole cast."""
    folder = tmp_path_factory.mktemp("lake")
    return write_lake(folder, CAST, zones=ZONES, customers=CUSTOMERS)


@pytest.fixture(scope="session")
def cast_tables(cast_root: Path) -> dict[str, Table]:
    return compute_tables(cast_root, SURVEY)


@pytest.fixture
def tables_of(tmp_path: Path) -> Callable[..., dict[str, Table]]:
    """Tables of a lake made of the given domains."""

    def make(*domains: Domain) -> dict[str, Table]:
        return compute_tables(write_lake(tmp_path, domains), SURVEY)

    return make


def cells(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """The named columns of every row."""
    where = [table.columns.index(c) for c in columns]
    return [tuple(row[i] for i in where) for row in table.rows]


def by_key(table: Table, key: str) -> dict[Any, dict[str, Any]]:
    """Rows as dictionaries, by one column."""
    rows: Sequence[dict[str, Any]] = [dict(zip(table.columns, r, strict=True)) for r in table.rows]
    return {row[key]: row for row in rows}
