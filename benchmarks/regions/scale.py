"""Proves that 500 regions × 100,000 clients are read from Parquet and solved on one core.

The file is written first, into a temporary folder. Times are CPU seconds, compiled loops loaded.
"""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.optimization import Effort, Samples, Study, check
from analysis.optimization.files.matrices import read_samples
from benchmarks.regions.instances import generate
from benchmarks.regions.rounds import warm_up

# Regions in one group of rows.
GROUP = 10


def main() -> None:
    """Write, read and solve one instance per seed; print a line per step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regions", type=int, default=500)
    parser.add_argument("--clients", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 8])
    parser.add_argument("--check", action="store_true", help="re-check every proof, untimed")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        for seed in options.seeds:
            samples = generate(options.regions, options.clients, seed).samples
            path = Path(folder) / "samples.parquet"
            write(samples, path)
            if seed == options.seeds[0]:
                warm_up()
                read_samples(path, parquet=True)
            weights = dict(zip(samples.clients, samples.weights.tolist(), strict=True))
            del samples
            measure(seed, path, weights, options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak {peak:.0f} MiB with the generator")


def measure(seed: int, path: Path, weights: dict[str, float], options: argparse.Namespace) -> None:
    """Read and solve one file."""
    begun = time.process_time()
    samples = read_samples(path, weights, parquet=True)
    read = time.process_time()
    study = Study(samples)
    print(
        f"seed {seed}: {path.stat().st_size / 1e6:.0f} MB read in {read - begun:.2f} s, "
        f"to whole numbers in {time.process_time() - read:.2f} s"
    )
    for k in options.k:
        begun = time.process_time()
        answer = study.recommend(k, None, Effort(120, runners_up=0))
        spent = time.process_time() - begun
        state = "proven" if answer.proven else f"open, gap {answer.gap:.3%}"
        faults = check(samples, answer) if options.check else []
        print(f"  k {k}: {answer.value:.4f} ms, {state}, {spent:.2f} s", *faults, flush=True)


def write(samples: Samples, path: Path) -> None:
    """Write samples of one round as Parquet, names as dictionaries."""
    coded = pa.dictionary(pa.int32(), pa.string())
    names = ("round", "client", "region")
    schema = pa.schema([*((name, coded) for name in names), ("value", pa.float64())])
    dictionaries = [pa.array(each) for each in (samples.rounds, samples.clients, samples.regions)]
    clients = np.arange(len(samples.clients), dtype=np.int32)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for begin in range(0, len(samples.regions), GROUP):
            values = samples.values[begin : begin + GROUP, :, 0]
            regions = np.arange(begin, begin + values.shape[0], dtype=np.int32)
            codes = (
                np.zeros(values.size, np.int32),
                np.tile(clients, regions.size),
                np.repeat(regions, clients.size),
            )
            columns = [
                pa.DictionaryArray.from_arrays(code, dictionary)
                for code, dictionary in zip(codes, dictionaries, strict=True)
            ]
            writer.write_table(pa.table([*columns, values.ravel()], schema=schema))


if __name__ == "__main__":
    main()
