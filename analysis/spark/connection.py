"""A connection to Spark with those methods of DuckDB's that the study uses."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import MissingData

# Of a master on this machine; a cluster has settings of its own.
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}


class Result:
    """The rows of a query."""

    def __init__(self, frame: Any, folder: Path) -> None:
        self._frame, self._folder = frame, folder

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return [tuple(row) for row in self._frame.collect()]

    def to_arrow_table(self) -> pa.Table:
        """Return all rows as columns, through a file."""
        self._frame.write.parquet(str(self._folder))
        # Spark would read its own description of the columns from what is registered later.
        return pq.read_table(self._folder).replace_schema_metadata()


class SparkConnection:
    """A session of Spark with tables in Parquet files below ``folder``.

    A temporary table is written when it is created: a view would be computed again by each reader,
    and numbers that it assigns to texts would change. On a cluster all machines need ``folder``
    under the same path.
    """

    def __init__(self, master: str, folder: Path, memory_mb: int) -> None:
        self._folder, self._count = folder, 0
        self._codes: dict[str, list[str]] = {}
        self._spark = open_session(master, folder, memory_mb)

    def __enter__(self) -> "SparkConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session."""
        self._spark.stop()

    def execute(self, script: str, values: Sequence[Any] = ()) -> Result:
        """Run statements in DuckDB's dialect; return the rows of the last query."""
        from analysis.spark.dialect import translate  # noqa: PLC0415 - sqlglot is an extra

        rows: Any = None
        for statement in translate(script, values, self._codes):
            if statement.kind == "drop":
                self._spark.catalog.dropTempView(statement.name)
                continue
            frame = self._spark.sql(statement.sql)
            if statement.kind == "query":
                rows = frame
            elif statement.kind == "enum":
                self._codes[statement.name] = [row[0] for row in frame.collect()]
            elif statement.kind == "table":
                self._store(statement.name, frame)
            else:
                frame.createOrReplaceTempView(statement.name)
        return Result(rows, self._next_path())

    sql = execute

    def register(self, name: str, rows: pa.Table) -> None:
        """Make a table of rows that are in memory."""
        path = self._next_path()
        pq.write_table(rows, path)
        self._spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def unregister(self, name: str) -> None:
        """Forget the name of a table; what was created from it stays."""
        self._spark.catalog.dropTempView(name)

    def _store(self, name: str, frame: Any) -> None:
        path = str(self._next_path())
        frame.write.parquet(path)
        self._spark.read.schema(frame.schema).parquet(path).createOrReplaceTempView(name)

    def _next_path(self) -> Path:
        self._count += 1
        return self._folder / f"{self._count:04d}"


def open_session(master: str, folder: Path, memory_mb: int) -> Any:
    """Return a session of Spark; raises ``MissingData`` where Spark is not installed."""
    missing = [name for name in ("pyspark", "sqlglot") if not find_spec(name)]
    if missing:
        raise MissingData(
            f"Spark needs {' and '.join(missing)}; run: .venv/bin/pip install --require-hashes -r "
            "requirements/spark.txt"
        )
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{memory_mb}m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    builder = SparkSession.builder.master(master).appName("nephoscope")
    for key, value in (options | (_LOCAL if master.startswith("local") else {})).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
