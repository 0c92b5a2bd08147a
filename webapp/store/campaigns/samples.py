"""Raw samples and paths of one pair, read from the lake's parts."""

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa

from analysis.campaigns.aggregation.grid import summarise
from lake.parts import sql_list
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

Row = dict[str, Any]
# A page or a file of one pair holds at most so many rows.
MAX_ROWS = 100_000


def read_samples(
    found: Campaign, vantage: str, region: str, number: int | None = None
) -> list[Row]:
    """Read samples of a pair in time order, optionally of one round."""
    wanted = "vantage = $vantage AND region = $region"
    given: dict[str, Any] = {"vantage": vantage, "region": region}
    if number is not None:
        wanted, given["number"] = f"{wanted} AND round = $number", number
    return _ask(found, "samples", f'WHERE {wanted} ORDER BY "at", target, probe', given)


def reasons(found: Campaign, metric: str, vantage: str, region: str) -> list[tuple[str, int]]:
    """Count failed runs of a pair by reason, most frequent first."""
    equal = {"vantage": vantage, "region": region}
    rows = selectors.read_table(
        found, "failed-runs", ["probe", "status", "runs"], equal
    ).to_pylist()
    is_rate = metric == "throughput"
    counts: Counter[str] = Counter()
    for row in rows:
        if ("throughput" in row["probe"]) == is_rate:
            counts[row["status"]] += row["runs"]
    return counts.most_common()


def read_paths(found: Campaign, vantage: str, region: str) -> list[Row]:
    """Read traceroutes of a pair in either direction, in time order."""
    wanted = (
        'WHERE region = $region AND (vantage = $vantage OR target = $vantage) ORDER BY "at", zone'
    )
    return _ask(found, "paths", wanted, {"vantage": vantage, "region": region})


def _ask(
    found: Campaign, table: str, rest: str, given: dict[str, Any], what: str = "*"
) -> list[Row]:
    paths = selectors.parts(found, table)
    if not paths:
        return []
    query = f"SELECT {what} FROM read_parquet({sql_list(paths)}) {rest} LIMIT {MAX_ROWS}"
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        rows: list[Row] = connection.sql(query, params=given).to_arrow_table().to_pylist()
        return rows


def read_rounds(found: Campaign, metric: str, vantage: str, region: str) -> list[Row]:
    """The figures of each round of a pair, from the file by rounds or else from its samples."""
    equal = {"vantage": vantage, "region": region}
    if selectors.has_table(found, f"{metric}-rounds"):
        return selectors.read_table(found, f"{metric}-rounds", None, equal).to_pylist()
    is_rate = metric == "throughput"
    rows = [
        r for r in read_samples(found, vantage, region) if ("throughput" in r["probe"]) == is_rate
    ]
    if not rows:
        return []
    kept = ("round", "sent", "values")
    table = pa.Table.from_pylist([{k: r[k] for k in kept} for r in rows], schema=_ROUND)
    return summarise(table, ("round",)).to_pylist()


_ROUND = pa.schema(
    [("round", pa.int32()), ("sent", pa.int32()), ("values", pa.list_(pa.float32()))]
)
