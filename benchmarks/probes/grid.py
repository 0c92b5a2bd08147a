"""Summarising 100 million samples (10,000 vantage points, 100 regions, 100 rounds) to the grid.

Prints CPU seconds and peak memory of the summary alone; the samples are made first, by another
process, in a folder that is given or removed at the end.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.wide_area.grid import summarise
from lake.measurements import MEASUREMENT_SCHEMAS

PEAK = ("analysis.wide_area", "VmHWM")


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
    schema = pa.schema([f for f in MEASUREMENT_SCHEMAS["samples"] if f.name in columns])
    return pa.table([columns[f.name] for f in schema], schema=schema)


def make(folder: Path, rounds: int, vantages: int, regions: int) -> None:
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


def peak_mb() -> float:
    """The most memory that this process ever held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(t.split()[1]) for t in lines if t.startswith(PEAK[1])) / 1024


def main() -> None:
    """Make what is not there, summarise it, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--vantages", type=int, default=10_000)
    parser.add_argument("--regions", type=int, default=100)
    parser.add_argument("--make", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if given.make:
            make(folder, given.rounds, given.vantages, given.regions)
            return
        if not list(folder.glob("*.parquet")):
            size = [f"--{k}={getattr(given, k)}" for k in ("rounds", "vantages", "regions")]
            program = [sys.executable, "-m", "benchmarks.probes.grid"]
            subprocess.run([*program, "--make", f"--folder={folder}", *size], check=True)
        before = time.process_time()
        table = summarise(sorted(folder.glob("*.parquet")))
        cpu_s = time.process_time() - before
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{sum(table['sent'].to_numpy()):,} samples in {len(table):,} cells: {cpu_s:.1f} CPU s, "
        f"peak {peak_mb():,.0f} MB (whole process {usage.ru_utime + usage.ru_stime:.1f} CPU s)"
    )


if __name__ == "__main__":
    main()
