"""The base relations of all tables: existing names, and the location of each.

A name that lies in two listed domains (``www.shop.example`` in ``example`` and in
``shop.example``) counts once wherever names are counted, and for both wherever domains are.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from analysis.deployment.dictionary import IN_CLOUD as IN_CLOUD
from analysis.deployment.dictionary import IN_DOMAIN as IN_DOMAIN
from analysis.deployment.dictionary import SITED as SITED
from analysis.deployment.dictionary import number_texts
from core.providers import PROVIDERS
from lake.parts import open_views

Connection = duckdb.DuckDBPyConnection
Shards = Iterable[str] | None
# A lookup is about a name of the domain unless it asked for one of its name servers.
IS_NAME = f"type IN ('A', 'AAAA') AND (technique <> 'listed' OR name = domain) AND {IN_DOMAIN}"
# An alias that leads nowhere is a name too; a chain that broke off (SERVFAIL …) is a failure.
EXISTS = f"{IS_NAME} AND status IN ('NOERROR', 'NODATA', 'NXDOMAIN') AND array_length(answers) > 0"
# The address of a CDN does not determine the region of its origin.
IN_REGION = "kind = 'cloud' AND region IS NOT NULL"
# Lake tables that hold what was found of each domain.
_FOUND = ("lookups", "placements", "fronts", "servers")

_PROVIDERS = """
CREATE TEMP TABLE providers AS
  SELECT position, CAST(provider AS provider_code) AS provider FROM provider_rows
"""
_VIEWS = f"""
CREATE TEMP VIEW names AS SELECT DISTINCT domain, name FROM lookups WHERE {EXISTS};
CREATE TEMP TABLE uses AS
  SELECT DISTINCT domain, name, provider FROM placed WHERE {IN_CLOUD};
CREATE TEMP TABLE places AS
  SELECT DISTINCT domain, name, provider, region FROM placed WHERE {IN_REGION};
CREATE TEMP TABLE elsewhere AS
  SELECT DISTINCT domain, name FROM placed
  WHERE NOT {IN_CLOUD}
    AND (domain IN (SELECT domain FROM uses) OR name IN (SELECT name FROM uses));
CREATE TEMP TABLE labelled AS
  SELECT DISTINCT domain, name, provider, label, instance
  FROM fronted SEMI JOIN uses USING (domain, name, provider);
CREATE TEMP TABLE cloud AS
  WITH who AS (
    SELECT name, arg_max(domain, length(text)) AS domain, min(position) AS position,
      min(position) < max(position) AS several
    FROM uses JOIN providers USING (provider) JOIN domain_texts USING (domain) GROUP BY name),
  mixed AS (
    SELECT name, string_agg(provider, ' + ' ORDER BY position) AS providers
    FROM (SELECT DISTINCT name, provider FROM uses SEMI JOIN (FROM who WHERE several) USING (name))
    JOIN providers USING (provider) GROUP BY name),
  named AS (
    SELECT w.domain, w.name, several, coalesce(m.providers, p.provider) AS providers
    FROM who w JOIN providers p USING (position) LEFT JOIN mixed m USING (name))
  SELECT domain, name, providers,
    CASE WHEN several THEN providers
         WHEN name IN (SELECT name FROM elsewhere) THEN providers || ' + other'
         ELSE providers || ' only' END AS class
  FROM named;
"""


def open_names(
    root: Path,
    survey: str,
    shards: Shards = None,
    memory_mb: int = 1024,
    only: Iterable[str] | None = None,
) -> Connection:
    """A connection with the lake's views and the tables of ``number_texts`` and ``find_uses``.

    ``only`` limits what was found to these domains. Spills to ``root/.spill`` beyond
    ``memory_mb``.
    """
    connection = open_views(root, survey, shards, memory_mb)
    if only is not None:
        _limit(connection, only)
    spill = str(root / ".spill").replace("'", "''")
    connection.execute(f"SET temp_directory = '{spill}'")
    connection.execute("SET preserve_insertion_order = false")
    number_texts(connection)
    find_uses(connection)
    return connection


def _limit(connection: Connection, domains: Iterable[str]) -> None:
    """Put views of some domains before those of the lake; the list of domains stays whole."""
    connection.execute("CREATE TEMP TABLE chosen AS SELECT unnest(?) AS domain", [list(domains)])
    for table in _FOUND:
        connection.execute(
            f"CREATE TEMP VIEW {table} AS FROM memory.main.{table} SEMI JOIN chosen USING (domain)"
        )


def find_uses(connection: Connection) -> None:
    """Add to the tables of ``number_texts``, names and domains as numbers, every row distinct:

    ``uses`` (domain, name, provider); ``places`` (domain, name, provider, region) without CDN;
    ``elsewhere`` (domain, name) with an address outside the clouds, of cloud-using names and
    domains; ``labelled`` (domain, name, provider, label, instance); ``cloud``: one row per
    cloud-using name with its class and the closest listed domain; and ``names`` (domain, name)
    that exist, as texts.
    """
    rows = pa.table({"position": range(len(PROVIDERS)), "provider": list(PROVIDERS)})
    connection.register("provider_rows", rows)
    connection.execute(_PROVIDERS)
    connection.unregister("provider_rows")
    connection.execute(_VIEWS)


def fetch(connection: Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    rows: list[tuple[Any, ...]] = connection.execute(query, list(values)).fetchall()
    return rows


def count(connection: Connection, query: str) -> int:
    """The one number that a query gives."""
    return int(fetch(connection, query)[0][0] or 0)


def present_providers(connection: Connection) -> list[str]:
    """AWS and Azure always, others where a name uses them, in the agreed order."""
    seen = {row[0] for row in fetch(connection, "SELECT DISTINCT provider FROM uses")}
    return [p for p in PROVIDERS if p in seen | {"aws", "azure"}]


def population(connection: Connection, provider: str) -> tuple[int, int]:
    """(domains, subdomains) that use a provider."""
    row = fetch(
        connection,
        "SELECT count(DISTINCT domain), count(DISTINCT name) FROM uses WHERE provider = ?",
        provider,
    )[0]
    return int(row[0]), int(row[1])
