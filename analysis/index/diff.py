"""Compare two surveys by their indexes: every changed name, and the totals.

Only names of domains in both surveys are compared; a name that one of them could not
resolve is a failure, never a move. ``docs/methods/comparison.md`` has the definitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from analysis.deployment.cloud_names import IS_NAME, Connection
from lake.parts import parts_of
from lake.row_files import open_dataset, paths_of
from lake.schemas import SCHEMAS

DIMENSIONS = ("providers", "regions", "patterns", "zones")
# Values in place of a set where a survey has none for the name.
OUTSIDE, ABSENT, FAILED, NONE = "outside", "absent", "failed", "none"

# A name in two listed domains belongs to the closest; only what uses a cloud once is looked at.
_SIDES = """
CREATE TEMP TABLE asked AS
  SELECT a.domain, least(a.rank, b.rank) AS rank FROM a_domains a JOIN b_domains b USING (domain);
CREATE TEMP TABLE wanted AS
  SELECT DISTINCT name FROM (
    SELECT name FROM a_names WHERE len(providers) > 0
    UNION ALL SELECT name FROM b_names WHERE len(providers) > 0);
CREATE TEMP TABLE a AS
  SELECT * FROM a_names SEMI JOIN wanted USING (name)
  QUALIFY row_number() OVER (PARTITION BY name ORDER BY length(domain) DESC) = 1;
CREATE TEMP TABLE b AS
  SELECT * FROM b_names SEMI JOIN wanted USING (name)
  QUALIFY row_number() OVER (PARTITION BY name ORDER BY length(domain) DESC) = 1;
CREATE TEMP TABLE joined AS
  SELECT coalesce(b.domain, a.domain) AS domain, name, a.name IS NOT NULL AS in_a,
    b.name IS NOT NULL AS in_b, len(coalesce(a.providers, [])) > 0 AS cloud_a,
    len(coalesce(b.providers, [])) > 0 AS cloud_b,
    a.providers AS a_providers, b.providers AS b_providers,
    a.regions AS a_regions, b.regions AS b_regions,
    a.patterns AS a_patterns, b.patterns AS b_patterns,
    a.zones AS a_zones, b.zones AS b_zones
  FROM a FULL JOIN b USING (name);
CREATE TEMP TABLE pairs AS SELECT rank, j.* FROM joined j JOIN asked USING (domain);
"""
_BROKEN = f"""
CREATE TEMP TABLE {{side}}_broken AS
  SELECT DISTINCT name FROM {{side}}_lookups
  SEMI JOIN (SELECT name FROM pairs WHERE NOT in_{{side}}) USING (name)
  WHERE {IS_NAME} AND status NOT IN ('NOERROR', 'NODATA', 'NXDOMAIN')
"""
_STATE = f"""CASE WHEN cloud_{{side}} THEN array_to_string({{side}}_providers, ', ')
  WHEN in_{{side}} THEN '{OUTSIDE}'
  WHEN name IN (SELECT name FROM {{side}}_broken) THEN '{FAILED}' ELSE '{ABSENT}' END"""
_SET = f"coalesce(nullif(array_to_string({{side}}_{{kind}}, ', '), ''), '{NONE}')"


def _moved(kind: str) -> str:
    before, after = (_SET.format(side=side, kind=kind) for side in "ab")
    # A zone that one survey did not identify is unknown, not changed.
    least = "least" if kind == "zones" else "greatest"
    return (
        f"SELECT '{kind}' AS dimension, {before} AS before, {after} AS after, rank, domain, name "
        f"FROM pairs WHERE cloud_a AND cloud_b AND {least}(len(a_{kind}), len(b_{kind})) > 0"
    )


_BOTH = " UNION ALL ".join(
    [
        f"SELECT 'providers' AS dimension, {_STATE.format(side='a')} AS before, "
        f"{_STATE.format(side='b')} AS after, rank, domain, name FROM pairs",
        *(_moved(kind) for kind in DIMENSIONS[1:]),
    ]
)
_COMPARED = f"CREATE TEMP TABLE compared AS {_BOTH}"
_MOVES = """
SELECT dimension, before, after, rank, domain, name FROM compared WHERE before <> after
ORDER BY dimension, before, after, rank, domain, name
"""
_SUMS = """
SELECT dimension, count(*) AS names, count(*) FILTER (before <> after) AS changed,
  count(DISTINCT domain) AS domains,
  count(DISTINCT domain) FILTER (before <> after) AS changed_domains
FROM compared GROUP BY dimension
"""
_FLOWS = """
SELECT dimension, before, after, count(*) AS names, count(DISTINCT domain) AS domains
FROM compared WHERE before <> after GROUP BY dimension, before, after
ORDER BY dimension, names DESC, before, after
"""


def _members_of(kind: str) -> str:
    """Names by one member of a set at a time: who had it, has it, lost it, won it."""
    known = "true" if kind == "providers" else "cloud_a AND cloud_b"
    if kind == "zones":
        known += " AND len(a_zones) > 0 AND len(b_zones) > 0"
    return f"""
    SELECT '{kind}' AS dimension, one AS member, count(*) FILTER (was) AS before,
      count(*) FILTER (now) AS after, count(*) FILTER (was AND NOT now) AS lost,
      count(*) FILTER (now AND NOT was) AS won
    FROM (
      SELECT name, one, bool_or(side = 'a') AS was, bool_or(side = 'b') AS now FROM (
        SELECT name, unnest(a_{kind}) AS one, 'a' AS side FROM pairs WHERE {known}
        UNION ALL SELECT name, unnest(b_{kind}), 'b' FROM pairs WHERE {known})
      GROUP BY name, one)
    GROUP BY one"""


_MEMBERS = (
    "SELECT * FROM (" + " UNION ALL ".join(_members_of(kind) for kind in DIMENSIONS) + ") "
    "ORDER BY dimension, greatest(before, after) DESC, member"
)
_POPULATION = """
SELECT (SELECT count(*) FROM a_domains) AS domains_before,
  (SELECT count(*) FROM b_domains) AS domains_after,
  (SELECT count(*) FROM asked) AS domains_both,
  (SELECT count(*) FROM a WHERE len(providers) > 0) AS names_before,
  (SELECT count(*) FROM b WHERE len(providers) > 0) AS names_after,
  (SELECT count(*) FROM pairs) AS names_compared,
  (SELECT count(*) FROM pairs WHERE cloud_a AND cloud_b) AS names_both
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One survey: its parts that count, and the folder of its index."""

    survey: str
    shards: Sequence[str]
    index: Path


@dataclass(frozen=True, slots=True)
class Changes:
    """``moves``: a row per name and dimension; ``flows`` and ``members`` sum them up."""

    moves: pa.Table
    flows: list[dict[str, Any]]
    members: list[dict[str, Any]]
    sums: dict[str, dict[str, int]]
    population: dict[str, int]


def compare(root: Path, before: Side, after: Side, memory_mb: int = 1024) -> Changes:
    """Return the differences of the second survey from the first."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET memory_limit = '{memory_mb}MB'")
        connection.execute(f"SET temp_directory = '{_quoted(root / '.spill')}'")
        for name, side in (("a", before), ("b", after)):
            _open_side(connection, root, name, side)
        connection.execute(_SIDES)
        for name in "ab":
            connection.execute(_BROKEN.format(side=name))
        connection.execute(_COMPARED)
        moves = connection.sql(_MOVES).to_arrow_table()
        sums = {row.pop("dimension"): row for row in _rows(connection, _SUMS)}
        flows = _rows(connection, _FLOWS)
        members = _rows(connection, _MEMBERS)
        return Changes(moves, flows, members, sums, _rows(connection, _POPULATION)[0])


def _open_side(connection: Connection, root: Path, name: str, side: Side) -> None:
    for table in ("domains", "names"):
        connection.register(f"{name}_{table}", open_dataset(paths_of(side.index, table)))
    paths = [str(path) for path in parts_of(root, side.survey, "lookups", side.shards)]
    if paths:
        connection.read_parquet(paths).create_view(f"{name}_lookups")
    else:
        connection.register(f"{name}_lookups", SCHEMAS["lookups"].empty_table())


def _rows(connection: Connection, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(query).to_arrow_table().to_pylist()
    return rows


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
