"""Records of any number of measuring points, as Parquet, become distinct facts in DuckDB.

Takes a name, a type and a value per row, as text or as numbers; creates ``seen_names`` (name_id,
domain, name), ``seen`` (name_id, type, value) and ``seen_values`` (value, text), with each fact
once. Memory stays below the limit of the connection, which spills to disk.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import BadInput
from lake.distinct import RowSet, distinct_rows
from lake.packing import distinct_facts

Connection = duckdb.DuckDBPyConnection
TEXTS = pa.schema([(n, pa.string()) for n in ("domain", "name", "vantage", "type", "data")])
# ``type`` is as in DNS messages; ``value`` is an IPv4 address, else the number of a text.
NUMBERED = pa.schema(
    [
        ("name_id", pa.uint32()),
        ("vantage", pa.uint16()),
        ("type", pa.uint16()),
        ("value", pa.uint32()),
    ]
)
A, NS, CNAME, AAAA = 1, 2, 5, 28
_TYPE = f"CASE type WHEN 'A' THEN {A} WHEN 'NS' THEN {NS} WHEN 'CNAME' THEN {CNAME} ELSE {AAAA} END"
_ROWS_READ = """
CREATE TEMP TABLE rows_read AS
  SELECT domain, name, type, data FROM fresh WHERE type IN ('A', 'NS', 'CNAME', 'AAAA')
"""
# Only where there were more facts than the set of those seen holds.
_ONCE = "CREATE OR REPLACE TEMP TABLE rows_read AS SELECT DISTINCT * FROM rows_read"
_FROM_TEXTS = f"""
CREATE TEMP TABLE seen_names AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS name_id, domain, name
  FROM (SELECT DISTINCT domain, name FROM rows_read);
CREATE TEMP TABLE seen_values AS
  SELECT CAST(row_number() OVER () AS UINTEGER) AS value, text
  FROM (SELECT DISTINCT data AS text FROM rows_read);
CREATE TEMP TABLE seen AS
  SELECT name_id, CAST({_TYPE} AS UTINYINT) AS type, value
  FROM rows_read JOIN seen_names USING (domain, name) JOIN seen_values ON text = data;
DROP TABLE rows_read;
CREATE TEMP TABLE addresses AS
  SELECT type, value, text FROM (SELECT DISTINCT type, value FROM seen WHERE type IN ({A}, {AAAA}))
  JOIN seen_values USING (value);
"""
# Where numbers are larger, or facts more, than ``lake.packing`` takes.
_DISTINCT = f"""
CREATE TEMP TABLE seen AS
  SELECT DISTINCT name_id, CAST(type AS UTINYINT) AS type, value FROM read_parquet($records)
  WHERE type IN ({A}, {NS}, {CNAME}, {AAAA})
"""
_FROM_NUMBERS = f"""
CREATE TEMP TABLE seen_names AS SELECT name_id, domain, name FROM read_parquet($names);
CREATE TEMP TABLE seen_values AS
  SELECT value_id AS value, value AS text FROM read_parquet($values);
CREATE TEMP TABLE addresses AS
  SELECT CAST({A} AS UTINYINT) AS type, value, concat_ws('.', value >> 24, value >> 16 & 255,
    value >> 8 & 255, value & 255) AS text
  FROM (SELECT DISTINCT value FROM seen WHERE type = {A})
  UNION ALL SELECT CAST({AAAA} AS UTINYINT), value, text
  FROM (SELECT DISTINCT value FROM seen WHERE type = {AAAA}) JOIN seen_values USING (value);
"""


@dataclass(frozen=True, slots=True)
class Sources:
    """Files of one survey: records, in their numbered form with names and values beside them; the
    list of domains with their ranks; zones and customers, where given.
    """

    records: Path
    names: Path | None = None
    values: Path | None = None
    domains: Path | None = None
    zones: Path | None = None
    customers: Path | None = None


def read_records(connection: Connection, sources: Sources, *, here: bool = True) -> None:
    """Add the tables of this module, and ``addresses`` (type, value, text), each distinct.

    Distinct facts are found by this process, or by the connection's engine unless ``here``.
    Raises ``BadInput`` for a file without the columns of ``TEXTS`` or ``NUMBERED``.
    """
    columns = set(_columns(sources.records)) - {"vantage"}
    if columns >= set(TEXTS.names) - {"vantage"}:
        _read_texts(connection, sources.records, here)
    elif columns >= set(NUMBERED.names) - {"vantage"} and sources.names and sources.values:
        _read_numbers(connection, sources, here)
    else:
        raise BadInput(
            f"{sources.records.name} needs the columns domain, name, type and data; or name_id, "
            "type and value with files of names and values",
            field="records",
        )


def _read_texts(connection: Connection, records: Path, here: bool) -> None:
    if not here:
        connection.execute(f"CREATE TEMP VIEW fresh AS FROM read_parquet({_literal(records)})")
        connection.execute(_ROWS_READ.replace("SELECT", "SELECT DISTINCT"))
        connection.execute(_FROM_TEXTS)
        return
    seen = RowSet()
    connection.register("fresh", distinct_rows(records, ("domain", "name", "type", "data"), seen))
    connection.execute(_ROWS_READ)
    connection.unregister("fresh")
    if seen.is_full:
        connection.execute(_ONCE)
    connection.execute(_FROM_TEXTS)


def _read_numbers(connection: Connection, sources: Sources, here: bool) -> None:
    kinds = (A, NS, CNAME, AAAA)
    facts = distinct_facts(sources.records, ("name_id", "type", "value"), kinds) if here else None
    query = _FROM_NUMBERS
    if facts is None:
        query = f"{_DISTINCT};{query}"
    else:
        connection.register("facts", facts)
        connection.execute("CREATE TEMP TABLE seen AS FROM facts")
        connection.unregister("facts")
    for name in ("records", "names", "values"):
        query = query.replace(f"${name}", _literal(getattr(sources, name)))
    connection.execute(query)


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _columns(path: Path) -> list[str]:
    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowInvalid) as error:
        raise BadInput(f"{path.name} is not a Parquet file: {error}", field="records") from error
