"""Read round-trip times by country and region from the samples of a campaign."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from analysis.campaigns.tables.tables import LATENCY_PROBES, PING_PREFIX
from audits.facts.campaign import CampaignRow, LatencyFact
from lake.parts import sql_list, verify

_SHARE = 0.95
# Ranks that hold the percentile with a probability of 95 %, by the normal approximation of the
# binomial distribution (Conover, Practical Nonparametric Statistics, section 3.2).
_HALF = f"1.96 * sqrt(n * {_SHARE} * (1 - {_SHARE}))"
_LOW = f"greatest(1, floor(n * {_SHARE} - {_HALF}))"
_HIGH = f"least(n, ceil(n * {_SHARE} + {_HALF}) + 1)"
_PLACE = """CASE WHEN provider = '' OR starts_with(region, provider) THEN region
      ELSE provider || '/' || region END"""
_QUERY = f"""
WITH measured AS (
  SELECT country, unnest("values")::DOUBLE AS ms, vantage, region, round, "at",
    {_PLACE} AS place
  FROM samples JOIN places USING (vantage)
  WHERE status = 'OK' AND (probe IN (SELECT unnest(?)) OR starts_with(probe, '{PING_PREFIX}'))
), ranked AS (
  SELECT country, place, ms, struct_pack(vantage := vantage::VARCHAR, region := region::VARCHAR,
      round := round, at_us := epoch_us("at"), ms := ms) AS origin,
    row_number() OVER (PARTITION BY country, place ORDER BY ms) AS rank,
    count(*) OVER (PARTITION BY country, place) AS n
  FROM measured WHERE place <> ''
)
SELECT country, place, any_value(n), max(ms) FILTER (rank = ceil(n * {_SHARE})),
  max(ms) FILTER (rank = {_LOW}), max(ms) FILTER (rank = {_HIGH}),
  any_value(origin) FILTER (rank = ceil(n * {_SHARE})),
  any_value(origin) FILTER (rank = {_LOW}), any_value(origin) FILTER (rank = {_HIGH})
FROM ranked GROUP BY country, place ORDER BY country, place
"""


def read_latencies(
    parts: Sequence[Path],
    countries: Mapping[str, str],
    wanted: Collection[str],
    memory_mb: int = 1024,
) -> dict[tuple[str, str], LatencyFact]:
    """The 95th percentile in ms by country and region name, with its 95 % interval.

    ``parts`` are files of the lake table ``samples``; ``countries`` gives the ISO code of each
    vantage point; only vantage points of ``wanted`` countries are read. A region is named
    ``provider/region``, or as it was imported. Raises ``Damaged``.
    """
    kept = {name: country for name, country in countries.items() if country in wanted}
    if not parts or not kept:
        return {}
    verify(parts)
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"SET memory_limit = '{memory_mb}MB'")
        places = pa.table({"vantage": list(kept), "country": list(kept.values())})
        connection.register("places", places)
        connection.execute(f"CREATE VIEW samples AS SELECT * FROM read_parquet({sql_list(parts)})")
        rows = connection.execute(_QUERY, [list(LATENCY_PROBES)]).fetchall()
    return {
        (country, place): LatencyFact(
            p95_ms=p95, low_ms=low, high_ms=high, n=n, rows=tuple(map(_row, origins))
        )
        for country, place, n, p95, low, high, *origins in rows
    }


def _row(origin: Mapping[str, Any]) -> CampaignRow:
    return CampaignRow(
        origin["vantage"],
        origin["region"],
        origin["round"],
        datetime.fromtimestamp(origin["at_us"] / 1e6, UTC),
        origin.get("ms"),
    )


_FIRST_PATHS = f"""
SELECT place, unnest(list(struct_pack(vantage := vantage, region := region, round := round,
    at_us := at_us) ORDER BY round, at_us, vantage)[1:3])
FROM (
  SELECT vantage::VARCHAR AS vantage, region::VARCHAR AS region, round, epoch_us("at") AS at_us,
    {_PLACE} AS place
  FROM read_parquet({{parts}}) WHERE region <> '' AND reached
) GROUP BY place
"""


def read_first_paths(parts: Sequence[Path]) -> dict[str, tuple[CampaignRow, ...]]:
    """The first three traceroutes that reached their end, by region name; raises ``Damaged``."""
    if not parts:
        return {}
    verify(parts)
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(_FIRST_PATHS.format(parts=sql_list(parts))).fetchall()
    found: dict[str, tuple[CampaignRow, ...]] = {}
    for place, origin in rows:
        found[place] = (*found.get(place, ()), _row(origin))
    return found
