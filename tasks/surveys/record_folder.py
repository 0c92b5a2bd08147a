"""The study's tables from a folder of records that were collected elsewhere, as Parquet files."""

import tempfile
from datetime import date
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from analysis.portable_sql import RESULTS, VIEWS, split_ranges
from analysis.reporting.checks import check_tables
from analysis.reporting.headlines import headline
from analysis.reporting.survey_tables import build_tables
from cartography.placement.cloud_table import PrefixTable
from core.errors import BadInput, Unavailable
from tasks.surveys.record_placement import open_records, open_records_on_spark
from tasks.surveys.record_study import Connection, Sources
from webapp.store.ranges.by_date import Tables

MEMORY_MB = 1024
_NUMBERED = ("numbered", "names", "values")
_OPTIONAL = ("domains", "zones", "customers")


def compute_tables(
    folder: Path, as_of: date | None = None, memory_mb: int = MEMORY_MB, spark_master: str = ""
) -> dict[str, Any]:
    """All tables of the records, with headlines, complaints and the range tables that were used.

    Addresses are placed by the imported ranges of a day, of today without one. Beyond
    ``memory_mb``, DuckDB spills to the lake's folder. With ``spark_master`` the same queries run on
    Spark. Raises ``BadInput`` and ``MissingData``.
    """
    sources, ranges = find_sources(folder), Tables(as_of)
    table, lake = ranges.on(None), Path(settings.LAKE_DIR)
    lake.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".spill-", dir=lake) as spill,
        _open(sources, table, Path(spill), memory_mb, spark_master) as connection,
    ):
        tables = build_tables(connection)
        count = connection.sql("SELECT count(DISTINCT domain) FROM seen_names").fetchall()
    n_domains = int(count[0][0])
    return {
        "domains": n_domains,
        "range_tables": ranges.used(),
        "complaints": check_tables(tables),
        "tables": {
            table_id: {
                **made.as_json(),
                "n": made.n,
                "headline": headline(table_id, tables, n_domains),
            }
            for table_id, made in tables.items()
        },
    }


def _open(
    sources: Sources, table: PrefixTable, spill: Path, memory_mb: int, spark_master: str
) -> Connection:
    if not spark_master:
        return open_records(sources, table, spill, memory_mb)
    connection = open_records_on_spark(sources, table, spill, spark_master, memory_mb)
    return cast("Connection", connection)


def find_sources(folder: Path) -> Sources:
    """The Parquet files of a folder by their names; raises ``BadInput`` where records miss."""
    paths = {path.stem: path for path in folder.glob("*.parquet")}
    optional = {name: paths.get(name) for name in _OPTIONAL}
    if "records" in paths:
        return Sources(paths["records"], None, None, **optional)
    if all(name in paths for name in _NUMBERED):
        numbered, names, values = (paths[name] for name in _NUMBERED)
        return Sources(numbered, names, values, **optional)
    raise BadInput(
        f"{folder} holds neither records.parquet nor numbered.parquet with names.parquet and "
        "values.parquet",
        field="folder",
    )


def write_portable(folder: Path, as_of: date | None = None) -> Path:
    """Write ``ranges.parquet`` and ``study.sql`` beside the records; returns the latter.

    With both, any engine that reads Parquet and standard SQL counts the tables of
    ``analysis.portable_sql``. Raises ``MissingData`` and ``Unavailable``.
    """
    table, path = Tables(as_of).on(None), folder / "study.sql"
    try:
        pq.write_table(list_ranges(table), folder / "ranges.parquet")
        path.write_text(portable_script())
    except OSError as error:
        raise Unavailable(f"cannot write {folder}: {error.strerror or error}") from error
    return path


def list_ranges(table: PrefixTable) -> pa.Table:
    """The labelled IPv4 intervals of a range table, cut at the bounds of buckets."""
    meanings = table.label_table().select(["provider", "region", "kind"]).to_pylist()
    labels = table.addresses.families[4].labels.tolist()
    return pa.Table.from_pylist(
        [
            {"bucket": bucket, "low": low, "high": high, **meanings[label]}
            for label, (bucket, low, high) in split_ranges(table.boundaries(4), labels)
        ]
    )


def portable_script() -> str:
    """The views and queries of ``analysis.portable_sql`` as one script."""
    views = [f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{sql};\n" for name, sql in VIEWS.items()]
    queries = [f"-- table: {name}\n{sql};\n" for name, sql in RESULTS.items()]
    return "\n".join(
        ["-- The tables ``records`` and ``ranges`` are the Parquet files of these names.\n"]
        + views
        + queries
    )
