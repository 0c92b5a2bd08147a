"""Summarising 100 million samples (10,000 vantage points, 100 regions, 100 rounds) to the grid.

Prints CPU seconds and peak memory of the summary alone; the samples are made first, by another
process, in a folder that is given or removed at the end.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.tables.tables import build_tables
from benchmarks.probes.inputs import Used, ask, open_inputs
from lake.campaigns import fill_table


def names(prefix: str, codes: np.ndarray, count: int) -> pa.DictionaryArray:
    """Codes as a column of names."""
    texts = [f"{prefix}-{i:05}" for i in range(count)]
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(texts))


def one_round(number: int, vantages: int, regions: int, chance: np.random.Generator) -> pa.Table:
    """Every pair once, in random order, one in a hundred lost."""
    rows = vantages * regions
    order = chance.permutation(rows)
    vantage, region = order // regions, order % regions
    rtts = chance.gamma(4.0, 1.0 + region / 3.0).astype(np.float32)
    ends = np.cumsum(chance.random(rows) >= 0.01)
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    columns = {
        "round": pa.array(np.full(rows, number, np.int32)),
        "vantage": names("vantage", vantage, vantages),
        "target": names("target", region, regions),
        "region": names("region", region, regions),
        "sent": pa.array(np.ones(rows, np.int32)),
        "values": pa.ListArray.from_arrays(offsets, pa.array(rtts[: offsets[-1]])),
    }
    lost = np.diff(offsets) == 0
    words = pa.array(["OK", "TIMEOUT"])
    extra = {
        "probe": pa.repeat(pa.scalar("tcp-ping"), rows),
        "status": pa.DictionaryArray.from_arrays(pa.array(lost.astype(np.int32)), words),
        "zone": names("zone", order % 2, 2),
        "at": pa.nulls(rows, pa.timestamp("us", tz="UTC")),
    }
    return fill_table("samples", pa.table(columns), extra)


def write_samples(folder: Path, rounds: int, vantages: int, regions: int) -> None:
    """One file per ten rounds."""
    chance = np.random.default_rng(1)
    for first in range(0, rounds, 10):
        with pq.ParquetWriter(
            folder / f"s{first:05}.parquet",
            one_round(0, 1, 1, chance).schema,
            compression="zstd",
        ) as writer:
            for number in range(first, min(first + 10, rounds)):
                writer.write_table(one_round(number, vantages, regions, chance))


def main() -> None:
    """Make what is not there, summarise it, print the figures."""
    parser = ask(__doc__, {"rounds": 100, "vantages": 10_000, "regions": 100})
    parser.add_argument("--tables", action="store_true", help="all tables of a campaign")
    given = parser.parse_args()
    sizes = given.rounds, given.vantages, given.regions
    with open_inputs(
        given, "benchmarks.probes.grid", "*.parquet", lambda f: write_samples(f, *sizes)
    ) as folder:
        if folder is None:
            return
        files, used = sorted(folder.glob("*.parquet")), Used()
        table = build_tables(files).files["latency-grid"] if given.tables else summarise(files)
    print(f"{sum(table['sent'].to_numpy()):,} samples in {len(table):,} cells: {used}")


if __name__ == "__main__":
    main()
