"""Every table of the lake and every exported file opens in pandas, polars, DuckDB and R."""

import json
import shutil
import subprocess
from datetime import UTC, date, datetime
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings

from core.records import Answer, Lookup, Record
from core.statuses import DnsStatus, Technique
from crawlers.files.columns import SCHEMA as RESOLVED
from crawlers.files.parquet import ParquetSink
from lake.campaigns import CAMPAIGN_SCHEMAS
from lake.parts import open_few, open_views, part_path, read_part, write_part
from lake.schemas import FILE_SCHEMAS, SCHEMAS, table_of_lookups
from lake.traffic import FLOW_SCHEMAS
from tasks.surveys import export
from tests.crawlers.files.test_writers import result
from tests.pages import cast

EVERY = {
    **SCHEMAS,
    **CAMPAIGN_SCHEMAS,
    **FLOW_SCHEMAS,
    "lookups of a report folder": FILE_SCHEMAS["lookups"],
    "resolved names": RESOLVED,
}
ADDRESSES = ["192.0.2.1", "2001:db8::1", "198.51.100.9"]


@lru_cache(maxsize=1)
def why_no_r():
    if not shutil.which("Rscript"):
        return "R is not installed"
    done = subprocess.run(["Rscript", "-e", "library(arrow)"], capture_output=True, text=True)
    return "" if done.returncode == 0 else "R has no arrow package"


def by_r(path, kind):
    if why_no_r():
        pytest.skip(why_no_r())
    read = {"parquet": "read_parquet", "csv": "read_csv_arrow", "jsonl": "read_json_arrow"}[kind]
    code = f"library(arrow); cat(nrow(as.data.frame({read}('{path}'))))"
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def by_pandas(path, kind):
    if kind == "jsonl":
        return len(pd.read_json(path, lines=True)) if path.stat().st_size else 0
    return len(pd.read_parquet(path) if kind == "parquet" else pd.read_csv(path))


def by_polars(path, kind):
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[kind]
    if not path.stat().st_size:
        return 0
    found = read(path) if kind == "parquet" else read(path, infer_schema_length=None)
    # A column that cannot be converted fails only when its values are asked for.
    return len(found.rows())


def by_duckdb(path, kind):
    if not path.stat().st_size:
        return 0
    read = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_ndjson"}[kind]
    # Rows as Python objects need a package for time zones; columns do not.
    return duckdb.sql(f"SELECT * FROM {read}('{path}')").to_arrow_table().num_rows


READERS = [by_pandas, by_polars, by_duckdb, by_r]


def value_of(kind):
    """A value of an Arrow type."""
    if pa.types.is_list(kind):
        return [value_of(kind.value_type), value_of(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: value_of(field.type) for field in kind}
    if pa.types.is_dictionary(kind):
        return value_of(kind.value_type)
    plain = {
        pa.string(): "x",
        pa.binary(): ip_address("2001:db8::1").packed,
        pa.bool_(): True,
        pa.date32(): date(2013, 3, 29),
        pa.timestamp("us", tz="UTC"): datetime(2013, 3, 29, tzinfo=UTC),
    }
    return plain.get(kind, 1)


def write_rows(path, schema):
    """A full row, one of empty lists and one of nothing."""
    full = {field.name: value_of(field.type) for field in schema}
    empty = {n: [] if isinstance(value, list) else value for n, value in full.items()}
    pq.write_table(pa.Table.from_pylist([full, empty, {}], schema=schema), path)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("table", EVERY)
def test_every_table_opens(tmp_path, table, read):
    path = tmp_path / "table.parquet"
    write_rows(path, EVERY[table])

    assert read(path, "parquet") == 3


@pytest.mark.parametrize("read", READERS)
def test_the_bulk_resolvers_file_opens(tmp_path, read):
    sink = ParquetSink(tmp_path / "x.parquet", 2)
    sink.write([result(0), result(1, "AAAA", data="2001:db8::1", name="n0.a.test")])
    sink.finish()

    assert read(tmp_path / "x.parquet", "parquet") == 2


def lookups():
    records = [Record("a.test", "AAAA" if ":" in a else "A", 60, a) for a in ADDRESSES]
    alias = Record("a.test", "CNAME", 60, "b.test")
    rows = ((alias, *records), (), (alias,), (records[2],))
    return [
        Lookup("a.test", Technique.LISTED, Answer(f"n{i}.a.test", "A", DnsStatus.NOERROR, found))
        for i, found in enumerate(rows)
    ]


def as_older_version(table):
    """Lookups as version 0.1 wrote them: IPv6 addresses as values of 16 bytes."""
    number = table.column_names.index("ipv6")
    return table.set_column(number, "ipv6", table["ipv6"].cast(pa.list_(pa.binary(16))))


def test_addresses_are_given_as_text_and_parts_of_older_versions_are_read(tmp_path):
    new = table_of_lookups(lookups())
    for shard, rows in {"new": new, "old": as_older_version(new)}.items():
        path = part_path(tmp_path, "one", "lookups", shard)
        write_part(path, "lookups", rows)
        found = read_part(path, "lookups")
        assert found.schema == FILE_SCHEMAS["lookups"]
        assert found["addresses"].to_pylist() == [ADDRESSES, [], [], ADDRESSES[2:]]

    for open_tables in (open_views, lambda *of: open_few(*of, ["lookups"])):
        rows = open_tables(tmp_path, "one").execute("SELECT ipv6 FROM lookups").fetchall()
        assert [row for row in rows if row[0]] == [([ip_address(ADDRESSES[1]).packed],)] * 2


def test_a_part_without_rows_has_addresses_too(tmp_path):
    path = part_path(tmp_path, "one", "lookups", "none")
    write_part(path, "lookups", [])

    assert read_part(path, "lookups").schema == FILE_SCHEMAS["lookups"]


def files_of_tables(slug, folder):
    """Each table of a survey as each kind of file, with its number of rows."""
    for table_id, table in export.survey_document(slug, "")["tables"].items():
        columns, rows = table["columns"], table["rows"]
        made = {
            "csv": export.table_csv(columns, rows).encode(),
            "jsonl": export.table_lines(columns, rows).encode(),
            "parquet": export.table_parquet(columns, rows),
        }
        for kind, data in made.items():
            path = folder / f"{table_id}.{kind}"
            path.write_bytes(data)
            yield path, kind, len(rows)


@pytest.mark.django_db
@pytest.mark.parametrize("read", READERS)
def test_every_file_of_a_survey_opens(tmp_path, read):
    slug = cast.atlas().slug
    out = tmp_path / "report"
    export.write_out(slug, out)

    assert len(json.loads((out / "report.json").read_text())["tables"]) > 5
    for path, kind, n_rows in files_of_tables(slug, tmp_path):
        assert read(path, kind) == n_rows, path
        if kind == "csv":
            assert (out / "tables" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.django_db
@pytest.mark.parametrize("read", READERS)
def test_observations_of_older_versions_open_once_they_are_exported(tmp_path, read):
    slug = cast.edges().slug
    for old in Path(settings.LAKE_DIR, slug, "lookups").glob("*.parquet"):
        pq.write_table(as_older_version(pq.read_table(old)), old)
    out = tmp_path / "report"
    export.write_out(slug, out)

    for table in SCHEMAS:
        path = out / "observations" / f"{table}.parquet"
        assert read(path, "parquet") == pq.read_metadata(path).num_rows
    assert pq.read_metadata(out / "observations" / "lookups.parquet").num_rows > 100
    assert read(out / "names.csv", "csv") == len(list(export.names_csv(slug))) - 1 > 100
