import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
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
from tasks.surveys.record_placement import open_connection, open_records, prepare_records
from tasks.surveys.record_study import read_records
from tests.distributed.on_spark import sources_of
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
    spill = tmp_path_factory.mktemp("spill")
    with open_records(sources_of(folder), table, spill) as connection:
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
    texts = sources_of(folder)
    numbered = replace(
        texts,
        records=folder / "numbered.parquet",
        names=folder / "names.parquet",
        values=folder / "values.parquet",
    )
    with open_records(numbered, table, tmp_path) as connection:
        assert build_tables(connection) == product


def test_the_engine_may_find_distinct_facts_itself(folder, table, product, tmp_path):
    with open_connection(tmp_path) as connection:
        read_records(connection, sources_of(folder), here=False)
        prepare_records(connection, sources_of(folder), table)
        assert build_tables(connection) == product


@pytest.fixture(scope="module")
def spark_python():
    if not shutil.which("java"):
        pytest.skip("Java is not installed")
    if not SPARK_PYTHON or not Path(SPARK_PYTHON).exists():
        pytest.skip("NEPHOSCOPE_SPARK_PYTHON names no Python that has pyspark")
    return SPARK_PYTHON


def test_every_table_of_the_report_is_the_same_on_spark(folder, product, spark_python):
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([spark_python, "-c", find], capture_output=True, text=True, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.distributed.on_spark", str(folder)],
        capture_output=True,
        text=True,
        timeout=1800,
        env=os.environ | {"PYTHONPATH": asked.stdout.strip()},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    expected = json.loads(json.dumps({name: made.as_json() for name, made in product.items()}))
    assert len(found) == len(expected) > 20
    for name, made in expected.items():
        assert found[name] == made, name


def test_spark_gives_the_same_rows(folder, portable, spark_python):
    python = spark_python
    done = subprocess.run(
        [python, str(SCRIPT), str(folder)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == portable
