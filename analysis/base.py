"""The views that every table starts from: which names there are, and where each stands."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from core.tables import PROVIDERS
from lake.parts import open_views

Connection = duckdb.DuckDBPyConnection
# A lookup is about a name of the domain unless it asked for one of its name servers.
IS_NAME = "type IN ('A', 'AAAA') AND (technique <> 'listed' OR name = domain)"
_IN_CLOUD = "kind IN ('cloud', 'cdn')"

_VIEWS = f"""
CREATE TEMP TABLE names AS
  SELECT DISTINCT domain, name FROM lookups WHERE {IS_NAME} AND len(answers) > 0;
CREATE TEMP TABLE uses AS
  SELECT DISTINCT domain, name, provider FROM placements WHERE {_IN_CLOUD};
CREATE TEMP TABLE elsewhere AS
  SELECT DISTINCT domain, name FROM placements WHERE NOT {_IN_CLOUD};
CREATE TEMP TABLE class_of AS
  SELECT domain, name, string_agg(provider, ' + ' ORDER BY position) AS providers,
         count(*) AS n_providers
  FROM uses JOIN providers USING (provider) GROUP BY ALL;
CREATE TEMP TABLE cloud AS
  SELECT c.domain, c.name, c.providers,
         CASE WHEN n_providers > 1 THEN c.providers
              WHEN e.name IS NULL THEN c.providers || ' only'
              ELSE c.providers || ' + other' END AS class
  FROM class_of c LEFT JOIN elsewhere e USING (domain, name);
CREATE TEMP TABLE places AS
  SELECT DISTINCT domain, name, provider, region FROM placements
  WHERE kind = 'cloud' AND region IS NOT NULL;
"""


def open_base(
    root: Path, campaign: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> Connection:
    """Connection with the lake's views and ``names``, ``uses``, ``elsewhere``, ``cloud``,
    ``places``: distinct names, (name, provider), names with an address outside the clouds,
    cloud-using names with their class, and (name, region) with CDN addresses left out.
    """
    connection = open_views(root, campaign, shards, memory_mb)
    connection.execute("CREATE TEMP TABLE providers (position INTEGER, provider VARCHAR)")
    connection.executemany("INSERT INTO providers VALUES (?, ?)", list(enumerate(PROVIDERS)))
    connection.execute(_VIEWS)
    return connection


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
        "SELECT count(DISTINCT domain), count(*) FROM uses WHERE provider = ?",
        provider,
    )[0]
    return int(row[0]), int(row[1])
