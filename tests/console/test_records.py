"""Records that were collected elsewhere: their tables, and the SQL that counts them anywhere."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.console.test_study import ROOT, Desk

pytestmark = pytest.mark.services

RANGES = ROOT / "fixtures" / "ranges" / "aws-sample.json"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.json("ranges", "import", "aws", RANGES)
    return desk


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two domains, seen from two places: one on EC2, one elsewhere."""
    found = json.loads(RANGES.read_text())["prefixes"]
    inside = next(p["ip_prefix"] for p in found if p["service"] == "EC2").partition("/")[0]
    facts = [
        ("one.test", "www.one.test", "A", inside),
        ("one.test", "one.test", "NS", "ns.one.test"),
        ("two.test", "www.two.test", "A", "192.0.2.7"),
    ]
    rows = [(*fact, vantage) for fact in facts for vantage in "ab"]
    names = ("domain", "name", "type", "data", "vantage")
    folder = tmp_path_factory.mktemp("records")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "records.parquet")
    return folder


def test_all_tables_of_records_are_computed_and_written(desk, folder, tmp_path):
    document = desk.json("study", "records", folder, "--out", tmp_path)
    assert document["complaints"] == []
    assert document["domains"] == 2
    assert [t["provider"] for t in document["range_tables"]] == ["aws"]
    (row,) = document["tables"]["regions"]["rows"]
    assert row[0] == "aws"
    assert json.loads((tmp_path / "report.json").read_text()) == document
    lines = (tmp_path / "tables" / "regions.csv").read_text().splitlines()
    assert lines[1].startswith("aws,")
    assert len(list((tmp_path / "tables").iterdir())) == len(document["tables"])
    assert not list((desk.folder / "lake").glob(".spill-*"))


def test_the_portable_script_counts_the_same_on_another_engine(desk, folder):
    (row,) = desk.json("study", "records", folder)["tables"]["regions"]["rows"]
    script = Path(desk.json("study", "portable", folder)["script"])
    with duckdb.connect() as connection:
        for name in ("records", "ranges"):
            connection.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
        views, *queries = script.read_text().split("-- table: ")
        connection.execute(views)
        found = {}
        for query in queries:
            name, _, sql = query.partition("\n")
            found[name] = connection.execute(sql).fetchall()
    assert found["regions"] == [tuple(row[:2]) + (1, 1)]
    assert found["providers"] == [("aws only", 1)]


def test_a_folder_without_records_is_said(desk, tmp_path):
    code, _, err = desk.run("study", "records", tmp_path)
    assert code == 2
    assert "holds neither records.parquet" in err
