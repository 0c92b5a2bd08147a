"""Distinct facts become a study: every address placed, every name labelled, all as columns.

Takes the tables of ``tasks.surveys.record_study`` and a compiled range table; returns a connection
on which ``analysis.reporting.survey_tables.build_tables`` works as on one of ``open_study``. No row
becomes an object.
"""

from pathlib import Path
from typing import cast

import duckdb
import numpy as np
import pyarrow as pa

from analysis.deployment.cloud_names import find_uses
from analysis.deployment.dictionary import CODED, FRONT, name_codes
from analysis.reporting.survey_tables import prepare_study
from analysis.spark.connection import SparkConnection
from cartography.patterns.tables import ADDRESSES_SQL, HITS_SQL, TARGETS_SQL, open_patterns
from cartography.placement.cloud_table import PrefixTable
from lake.schemas import SCHEMAS
from tasks.surveys.record_study import AAAA, CNAME, NS, A, Connection, Sources, read_records

_LABELS = ("label", "provider", "service", "region", "kind")
# Names outside their domain are its name servers. A name that several domains list is one name.
_OWN = """
CREATE TEMP TABLE own AS
  SELECT name_id, domain AS domain_text, name AS text FROM seen_names
  WHERE name = domain OR ends_with(name, '.' || domain);
CREATE TEMP TABLE shared AS
  SELECT text, min(name_id) AS first FROM own GROUP BY text HAVING count(*) > 1;
CREATE TEMP TABLE name_addresses AS
  SELECT name_id, address, label FROM seen SEMI JOIN own USING (name_id)
  JOIN addresses USING (type, value);
"""
# ``chains`` and ``placed`` are what the rules' own queries read. To the last, texts are numbers,
# those of aliases behind those of addresses.
_FRONTS = f"""
CREATE TEMP TABLE aliases AS
  SELECT value, lower(rtrim(text, '.')) AS cname FROM seen_values
  SEMI JOIN (FROM seen WHERE type = {CNAME}) USING (value);
CREATE TEMP VIEW chains AS SELECT cname FROM aliases;
{TARGETS_SQL};
DROP VIEW chains;
CREATE TEMP TABLE alias_numbers AS
  SELECT cname AS text, (1::UBIGINT << 32) + min(value) AS cname FROM aliases GROUP BY cname;
CREATE OR REPLACE TEMP TABLE pattern_matches AS
  SELECT a.cname, rule FROM pattern_matches m JOIN alias_numbers a ON a.text = m.cname;
CREATE TEMP TABLE chains AS
  SELECT DISTINCT name_id AS name, n.cname FROM seen SEMI JOIN own USING (name_id)
  JOIN aliases a USING (value) JOIN alias_numbers n ON n.text = a.cname WHERE type = {CNAME};
CREATE TEMP VIEW placed AS SELECT text AS address FROM addresses;
{ADDRESSES_SQL};
DROP VIEW placed;
CREATE OR REPLACE TEMP TABLE pattern_addresses AS
  SELECT a.address, rule FROM pattern_addresses p JOIN addresses a ON a.text = p.address;
CREATE TEMP TABLE placed AS
  SELECT name_id AS name, address::UBIGINT AS address, provider, service, kind, region
  FROM name_addresses LEFT JOIN labels USING (label);
CREATE TEMP TABLE labelled_ids AS {HITS_SQL};
DROP TABLE placed; DROP TABLE chains; DROP TABLE aliases; DROP TABLE alias_numbers;
"""
_TABLES = f"""
CREATE TEMP TABLE domain_texts AS
  SELECT CAST(row_number() OVER (ORDER BY text) AS UINTEGER) AS domain, text FROM (
    SELECT DISTINCT domain_text AS text FROM own SEMI JOIN (
      SELECT name_id FROM name_addresses JOIN labels USING (label) WHERE kind IN ('cloud', 'cdn'))
    USING (name_id));
CREATE TEMP TABLE titled AS
  SELECT name_id, d.domain, coalesce(s.first, name_id) AS name, o.text
  FROM own o LEFT JOIN domain_texts d ON d.text = o.domain_text
  LEFT JOIN shared s ON s.text = o.text;
CREATE TEMP VIEW name_texts AS SELECT name, text FROM titled WHERE name = name_id;
CREATE TEMP VIEW address_texts AS SELECT address, text FROM addresses;
CREATE TEMP TABLE placed AS
  SELECT domain, name, address, provider, region, coalesce(kind, 'other') AS kind
  FROM name_addresses JOIN titled USING (name_id) LEFT JOIN labels USING (label);
CREATE TEMP TABLE fronted AS
  WITH rules AS (SELECT rule, {FRONT} FROM pattern_rules)
  SELECT t.domain, t.name, provider, label, instance
  FROM labelled_ids l JOIN titled t ON t.name_id = l.name JOIN rules USING (rule)
  WHERE t.domain IS NOT NULL;
CREATE TEMP TABLE served AS
  WITH domain_servers AS (
    SELECT DISTINCT d.domain, lower(rtrim(v.text, '.')) AS server
    FROM seen JOIN seen_names n USING (name_id) JOIN domain_texts d ON d.text = n.domain
    JOIN seen_values v USING (value) WHERE type = {NS} AND n.name = n.domain),
  named AS (
    SELECT name_id, name AS server FROM seen_names
    SEMI JOIN (SELECT server AS name FROM domain_servers) USING (name)),
  hosts AS (
    SELECT DISTINCT server, type, value FROM seen JOIN named USING (name_id)
    WHERE type IN ({A}, {AAAA}))
  SELECT domain, server, address, provider, service, region, coalesce(kind, 'other') AS kind
  FROM domain_servers LEFT JOIN (hosts JOIN addresses USING (type, value)) USING (server)
  LEFT JOIN labels USING (label);
CREATE TEMP VIEW lookups AS
  SELECT domain, name, 'A' AS type, 'NOERROR' AS status, 'import' AS technique, [0] AS answers
  FROM seen_names;
DROP TABLE name_addresses; DROP TABLE own; DROP TABLE shared; DROP TABLE labelled_ids;
"""
# Without a list, the order of the alphabet represents ranks.
_UNRANKED = """
SELECT domain, row_number() OVER (ORDER BY domain) AS rank
FROM (SELECT DISTINCT domain FROM seen_names)
"""


def open_records(
    sources: Sources, table: PrefixTable, spill: Path, memory_mb: int = 1024
) -> Connection:
    """A connection that is ready for ``analysis.reporting.survey_tables.build_tables``; raises
    ``BadInput``.
    """
    connection = open_connection(spill, memory_mb)
    read_records(connection, sources)
    prepare_records(connection, sources, table)
    return connection


def open_records_on_spark(
    sources: Sources, table: PrefixTable, folder: Path, master: str, memory_mb: int = 1024
) -> SparkConnection:
    """As ``open_records``, on the Spark of ``master`` with its tables below ``folder``.

    Raises ``BadInput``, and ``MissingData`` where Spark is not installed.
    """
    connection = SparkConnection(master, folder, memory_mb)
    try:
        read_records(cast("Connection", connection), sources, here=False)
        prepare_records(cast("Connection", connection), sources, table)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare_records(connection: Connection, sources: Sources, table: PrefixTable) -> None:
    """Add what the report's tables need to the tables of ``read_records``."""
    place_records(connection, sources, table)
    find_uses(connection)
    prepare_study(connection)


def open_connection(spill: Path, memory_mb: int = 1024) -> Connection:
    """An empty database in memory that spills to a folder beyond ``memory_mb``."""
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET memory_limit = '{memory_mb}MB'")
    connection.execute("SET temp_directory = '{}'".format(str(spill).replace("'", "''")))
    connection.execute("SET preserve_insertion_order = false")
    return connection


def place_records(connection: Connection, sources: Sources, table: PrefixTable) -> None:
    """Add the tables of ``analysis.deployment.dictionary.number_texts`` to those of
    ``read_records``.
    """
    open_patterns(connection)
    _place_addresses(connection, table)
    connection.execute(_OWN)
    connection.execute(_FRONTS)
    connection.execute(_TABLES)
    _load_table(connection, "listed_domains", sources.domains, _UNRANKED)
    connection.execute(
        "CREATE TEMP TABLE ranked AS SELECT rank, d.domain FROM listed_domains g "
        "LEFT JOIN domain_texts d ON d.text = g.domain"
    )
    # Records list what exists, never that a target is denied: no alias is dangling here.
    for name in ("fronts", "domains"):
        connection.register(name, SCHEMAS[name].empty_table())
    for name, path in (("zones", sources.zones), ("customers", sources.customers)):
        connection.register(f"no_{name}", SCHEMAS[name].empty_table())
        _load_table(connection, name, path, f"FROM no_{name}")


def _place_addresses(connection: Connection, table: PrefixTable) -> None:
    """Give each distinct address a number and the label of the longest prefix around it."""
    connection.register("meanings", table.label_table().select(_LABELS))
    sources = dict.fromkeys(("provider", "region", "kind"), "meanings")
    name_codes(connection, {**sources, "label": "pattern_rules"})
    connection.execute(f"CREATE TEMP TABLE labels AS SELECT label, service, {CODED} FROM meanings")
    found = connection.sql("FROM addresses").to_arrow_table()
    numbers = pa.array(np.arange(len(found), dtype=np.uint32))
    labels = pa.array(table.addresses.match_text(found["text"]))
    found = found.append_column("address", numbers).append_column("label", labels)
    connection.register("labelled_addresses", found)
    connection.execute("CREATE OR REPLACE TEMP TABLE addresses AS FROM labelled_addresses")
    connection.unregister("labelled_addresses")


def _load_table(connection: Connection, name: str, path: Path | None, otherwise: str) -> None:
    if path is None:
        connection.execute(f"CREATE TEMP TABLE {name} AS {otherwise}")
    else:
        connection.execute(f"CREATE TEMP TABLE {name} AS FROM read_parquet(?)", [str(path)])
