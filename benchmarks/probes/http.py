"""All tables of a campaign of a million HTTP requests, each with the time of every step.

1,000 vantage points, 100 regions, 10 rounds in as many hours; one request in a hundred fails.
Prints CPU seconds and peak memory of the tables alone; the results are made first, by another
process, in a folder that is given or removed at the end.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.campaigns.tables.tables import build_tables
from benchmarks.probes.grid import names
from benchmarks.probes.inputs import Used, ask, open_inputs
from lake.campaigns import fill_table

STEPS = ("connect_ms", "dns_ms", "read_ms", "tls_ms", "wait_ms")
HOUR_US = 3_600_000_000


def one_round(number: int, vantages: int, regions: int, chance: np.random.Generator) -> pa.Table:
    """Every pair once, in random order; ``detail`` as probes write it."""
    rows = vantages * regions
    order = chance.permutation(rows)
    vantage, region = order // regions, order % regions
    steps = chance.gamma(4.0, 1.0 + region / 3.0, (len(STEPS), rows))
    is_ok = chance.random(rows) >= 0.01
    totals = steps.sum(axis=0)
    offsets = np.concatenate([[0], np.cumsum(is_ok)]).astype(np.int32)
    fields = np.round(np.vstack([steps, totals]).T, 3).tolist()
    texts = [
        json.dumps(dict(zip((*STEPS, "total_ms"), own, strict=True)) if ok else {"version": 1})
        for own, ok in zip(fields, is_ok.tolist(), strict=True)
    ]
    words = pa.array(["TIMEOUT", "OK"])
    columns = {
        "round": pa.array(np.full(rows, number, np.int32)),
        "vantage": names("vantage", vantage, vantages),
        "target": names("target", region, regions),
        "region": names("region", region, regions),
        "zone": names("zone", order % 2, 2),
        "sent": pa.array(np.ones(rows, np.int32)),
        "values": pa.ListArray.from_arrays(offsets, pa.array(totals[is_ok].astype(np.float32))),
        "detail": pa.array(texts),
    }
    extra = {
        "probe": pa.repeat(pa.scalar("http"), rows),
        "status": pa.DictionaryArray.from_arrays(pa.array(is_ok.astype(np.int32)), words),
        "at": pa.array(np.full(rows, number * HOUR_US), pa.timestamp("us", tz="UTC")),
    }
    return fill_table("samples", pa.table(columns), extra)


def write_results(folder: Path, rounds: int, vantages: int, regions: int) -> None:
    """One file per round."""
    chance = np.random.default_rng(1)
    for number in range(rounds):
        table = one_round(number, vantages, regions, chance)
        pq.write_table(table, folder / f"s{number:05}.parquet", compression="zstd")


def main() -> None:
    """Make what is not there, build all tables, print the figures."""
    given = ask(__doc__, {"rounds": 10, "vantages": 1_000, "regions": 100}).parse_args()
    sizes = given.rounds, given.vantages, given.regions
    with open_inputs(
        given, "benchmarks.probes.http", "*.parquet", lambda f: write_results(f, *sizes)
    ) as folder:
        if folder is None:
            return
        files, used = sorted(folder.glob("*.parquet")), Used()
        built = build_tables(files).files
    table, verdicts = built["probe-http"], built["suitability"]
    runs = sum(
        row["runs"]
        for row in table.select(["grouped_by", "statistic", "runs"]).to_pylist()
        if row["grouped_by"] == "region" and row["statistic"] == "total"
    )
    rows = f"{len(table):,} rows of statistics, {len(verdicts):,} verdicts"
    print(f"{runs:,} HTTP results, {rows}: {used}")


if __name__ == "__main__":
    main()
