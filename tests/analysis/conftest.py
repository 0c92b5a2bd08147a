from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from analysis.deployment.cloud_names import Connection
from analysis.reporting.registry import TABLE_BY_ID
from analysis.reporting.survey_tables import compute_tables, open_study
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


class Tables(Mapping[str, Table]):
    """Tables of a study by id; each is computed when it is first read."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._computed = connection, dict[str, Table]()

    def __getitem__(self, table_id: str) -> Table:
        if table_id not in self._computed:
            self._computed[table_id] = TABLE_BY_ID[table_id].build(self._connection)
        return self._computed[table_id]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE_BY_ID)

    def __len__(self) -> int:
        return len(TABLE_BY_ID)


@pytest.fixture
def tables_of(tmp_path: Path) -> Iterator[Callable[..., Mapping[str, Table]]]:
    """Tables of a lake made of the given domains."""
    with ExitStack() as connections:

        def make(*domains: Domain) -> Mapping[str, Table]:
            study = open_study(write_lake(tmp_path, domains), SURVEY)
            return Tables(connections.enter_context(study))

        yield make


def cells(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """The named columns of every row."""
    where = [table.columns.index(c) for c in columns]
    return [tuple(row[i] for i in where) for row in table.rows]


def by_key(table: Table, key: str) -> dict[Any, dict[str, Any]]:
    """Rows as dictionaries, by one column."""
    rows: Sequence[dict[str, Any]] = [dict(zip(table.columns, r, strict=True)) for r in table.rows]
    return {row[key]: row for row in rows}
