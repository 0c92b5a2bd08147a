"""Changes between two surveys, domain by domain, by DuckDB over their comparison and the lake."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.index.diff import FAILED
from lake.parts import parts_of

# Names that a change lists; the rest is counted.
LISTED_NAMES = 20


@dataclass(frozen=True, slots=True)
class DomainChange:
    """What a dimension of a domain was and is, and how many of its names changed."""

    dimension: str
    domain: str
    before: str
    after: str
    n_names: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SurveyParts:
    """A survey in the lake: its slug and the shards that count."""

    slug: str
    shards: Sequence[str]


# A name that one survey could not resolve is a failure and no move.
_MOVES = f"""
SELECT dimension, domain,
  string_agg(DISTINCT before, '; ' ORDER BY before) AS before,
  string_agg(DISTINCT after, '; ' ORDER BY after) AS after,
  count(*) AS n, list_sort(list(name))[:{LISTED_NAMES}] AS names
FROM read_parquet($moves)
WHERE before <> '{FAILED}' AND after <> '{FAILED}'
GROUP BY dimension, domain ORDER BY dimension, min(rank), domain
"""
_SERVERS = """
WITH sides AS (
  SELECT a.domain, least(a.rank, b.rank) AS rank,
    array_to_string(list_sort(a.name_servers), ', ') AS before,
    array_to_string(list_sort(b.name_servers), ', ') AS after
  FROM read_parquet($before) a JOIN read_parquet($after) b USING (domain)
  WHERE len(a.name_servers) > 0 AND len(b.name_servers) > 0)
SELECT domain, before, after FROM sides WHERE before <> after ORDER BY rank, domain
"""


def count_found(lake: Path, side: SurveyParts) -> int:
    """The number of names that a survey found."""
    files = _files(lake, side)
    if not files:
        return 0
    with duckdb.connect() as connection:
        row = connection.execute(
            "SELECT coalesce(sum(found), 0)::BIGINT FROM read_parquet($files)", {"files": files}
        ).fetchone()
    return int(row[0]) if row else 0


def moved_domains(moves: Path) -> list[DomainChange]:
    """Moves of names (``moves.parquet`` of a comparison), summed up by domain and dimension."""
    with duckdb.connect() as connection:
        rows = connection.execute(_MOVES, {"moves": str(moves)}).fetchall()
    return [
        DomainChange(dimension, domain, before, after, n, tuple(names))
        for dimension, domain, before, after, n, names in rows
    ]


def changed_name_servers(lake: Path, before: SurveyParts, after: SurveyParts) -> list[DomainChange]:
    """Domains with other name servers, among those of which both surveys know them."""
    files = [_files(lake, side) for side in (before, after)]
    if not all(files):
        return []
    with duckdb.connect() as connection:
        rows = connection.execute(_SERVERS, {"before": files[0], "after": files[1]}).fetchall()
    return [DomainChange("name-servers", domain, was, now, 0) for domain, was, now in rows]


def _files(lake: Path, side: SurveyParts) -> list[str]:
    return [str(path) for path in parts_of(lake, side.slug, "domains", side.shards)]
