"""Compares the report on DuckDB and on Spark at several numbers of records: cost, slope, digest.

Each engine runs in a process of its own; the CPU time includes that of Spark's virtual machine.
Spark is found by ``NEPHOSCOPE_SPARK_PYTHON``, a Python that has ``requirements/spark.txt``.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis.reporting.survey_tables import build_tables
from benchmarks.study.records import NAMES, RECORDS, SEED, write_folder
from benchmarks.study.tables import digest, sources_of
from benchmarks.study.world import Clouds
from cartography.placement.cloud_table import PrefixTable
from tasks.surveys.record_placement import open_records, open_records_on_spark
from tasks.surveys.record_study import Connection

ENGINES = ("duckdb", "spark")
_SUBREAPER = 36
_MASTER = "local[2]"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one engine used for one number of records; memory is that of its largest process."""

    cpu_s: float
    wall_s: float
    mib: int
    digest: str


def compute(engine: str, folder: Path, form: str, memory_mb: int) -> str:
    """All tables of a folder on one engine; their digest."""
    table, sources = PrefixTable.build(Clouds(SEED).files()), sources_of(folder, form)
    with tempfile.TemporaryDirectory() as work:
        opened = (
            open_records(sources, table, Path(work), memory_mb)
            if engine == "duckdb"
            else open_records_on_spark(sources, table, Path(work), _MASTER, memory_mb)
        )
        with opened as connection:
            return digest(build_tables(cast("Connection", connection)))


def measure(engine: str, folder: Path, form: str, memory_mb: int) -> Cost:
    """Run one engine in a process of its own; raises ``RuntimeError`` where it fails."""
    words = ["--engine", engine, "--folder", str(folder), "--form", form]
    command = [sys.executable, "-m", "benchmarks.study.engines", *words]
    start = time.perf_counter()
    child = subprocess.Popen(
        [*command, "--memory-mb", str(memory_mb)],
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(engine),
    )
    assert child.stdout is not None
    lines = child.stdout.read().strip().splitlines()
    cpu_s, mib = _wait_for_all()
    if not lines:
        raise RuntimeError(f"{engine} has printed no digest")
    return Cost(cpu_s, time.perf_counter() - start, mib, lines[-1])


def _wait_for_all() -> tuple[float, int]:
    """Wait for all children, and for Spark's virtual machine, for which its parent does not wait.

    Return their CPU seconds and the memory of the largest in MiB.
    """
    cpu_s, mib = 0.0, 0
    while True:
        try:
            _, _, used = os.wait3(0)
        except ChildProcessError:
            return cpu_s, mib
        cpu_s += used.ru_utime + used.ru_stime
        mib = max(mib, used.ru_maxrss >> 10)


def _environment(engine: str) -> dict[str, str]:
    if engine == "duckdb":
        return dict(os.environ)
    python = os.environ["NEPHOSCOPE_SPARK_PYTHON"]
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", find], stdout=subprocess.PIPE, text=True, check=True)
    return os.environ | {"PYTHONPATH": found.stdout.strip()}


def compare(n_records: int, engines: list[str], form: str, memory_mb: int) -> bool:
    """Print the cost of each engine for a number of records; whether their digests are equal."""
    digests = set()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_folder(folder, n_records, max(1, NAMES * n_records // RECORDS))
        for engine in engines:
            cost = measure(engine, folder, form, memory_mb)
            digests.add(cost.digest)
            print(
                f"{n_records:>13,}  {engine:<7}{cost.cpu_s:8.1f} CPU s "
                f"{1e6 * cost.cpu_s / n_records:7.2f} us/record {cost.wall_s:7.1f} s wall "
                f"{cost.mib:6,} MiB  {cost.digest}",
                flush=True,
            )
    return len(digests) == 1


def main() -> int:
    """Compare the engines, or, with ``--engine`` and ``--folder``, run one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 3_400_000])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--form", choices=("texts", "numbers"), default="texts")
    parser.add_argument("--memory-mb", type=int, default=2048)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.engine:
        print(compute(options.engine, options.folder, options.form, options.memory_mb))
        return 0
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    equal = [compare(n, options.engines, options.form, options.memory_mb) for n in options.records]
    print("all digests equal" if all(equal) else "DIGESTS DIFFER")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
