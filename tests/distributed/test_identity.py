import json
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from analysis.portable_sql import VIEWS
from analysis.reporting.survey_tables import build_tables
from benchmarks.study.records import write_folder
from benchmarks.study.world import Clouds
from cartography.placement.cloud_table import PrefixTable
from tasks.surveys.record_folder import list_ranges
from tasks.surveys.record_placement import open_records
from tasks.surveys.record_study import Sources
from tests.distributed.portable import rows_by_table

# A million where Spark is at hand (make test-distributed), a twentieth in the usual tests.
N_RECORDS = int(os.environ.get("NEPHOSCOPE_PORTABLE_RECORDS", "50000"))
SPARK_PYTHON = os.environ.get("NEPHOSCOPE_SPARK_PYTHON", "")
SCRIPT = Path(__file__).with_name("portable.py")


@pytest.fixture(scope="module")
def table():
    return PrefixTable.build(Clouds(1).files())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("records")
    write_folder(folder, N_RECORDS, N_RECORDS // 20)
    pq.write_table(list_ranges(table), folder / "ranges.parquet")
    return folder


@pytest.fixture(scope="module")
def portable(folder):
    with duckdb.connect() as connection:
        for name in ("records", "ranges"):
            connection.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
        for name, sql in VIEWS.items():
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        rows = rows_by_table(lambda sql: connection.execute(sql).fetchall())
    return json.loads(json.dumps(rows))


@pytest.fixture(scope="module")
def product(folder, table, tmp_path_factory):
    with open_records(
        Sources(folder / "records.parquet"), table, tmp_path_factory.mktemp("spill")
    ) as connection:
        return build_tables(connection)


def of(product, table_id, *columns):
    table = product[table_id]
    where = [table.columns.index(c) for c in columns]
    return sorted(([row[i] for i in where] for row in table.rows), key=str)


def test_portable_regions_are_those_of_the_report(product, portable):
    assert len(portable["regions"]) > 50
    assert (
        of(product, "regions", "provider", "region", "domains", "subdomains")
        == (portable["regions"])
    )


def test_portable_numbers_of_regions_are_those_of_the_report(product, portable):
    assert (
        of(product, "region-counts", "provider", "regions", "subdomains")
        == (portable["region-counts"])
    )


def test_portable_classes_are_those_of_the_report(product, portable):
    single = [
        row
        for row in of(product, "providers", "class", "subdomains")
        if row[0].endswith((" only", " + other")) and row[0].count("+") < 2 and row[1]
    ]
    assert single == portable["providers"]


def test_numbers_and_texts_give_the_same_report(folder, table, product, tmp_path):
    numbered = Sources(
        folder / "numbered.parquet", folder / "names.parquet", folder / "values.parquet"
    )
    with open_records(numbered, table, tmp_path) as connection:
        assert build_tables(connection) == product


def test_spark_gives_the_same_rows(folder, portable):
    if not shutil.which("java"):
        pytest.skip("Java is not installed")
    python = SPARK_PYTHON
    if not python or not Path(python).exists():
        pytest.skip("NEPHOSCOPE_SPARK_PYTHON names no Python that has pyspark")
    done = subprocess.run(
        [python, str(SCRIPT), str(folder)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == portable
