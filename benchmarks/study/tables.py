"""Proves what a study of 34 million records costs: Parquet in, all tables out, stage by stage.

Each form of the records runs in a separate process, so that its memory is measured alone. Range
table and compiled loops are ready before the clock starts, as they are in a worker.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyarrow as pa

from analysis.deployment.cloud_names import find_uses
from analysis.reporting.checks import check_tables
from analysis.reporting.survey_tables import build_tables, prepare_study
from benchmarks.study.records import NAMES, RECORDS, SEED, write_folder
from benchmarks.study.world import Clouds
from cartography.placement.cloud_table import PrefixTable
from core.report_tables import Table
from tasks.surveys.record_placement import open_connection, place_records
from tasks.surveys.record_study import Sources, read_records

# CPU seconds, wall seconds, MiB.
GATES = {"texts": (25, 15, 2048), "numbers": (10, 15, 2048)}


class Clock:
    """Prints the time of each stage."""

    def __init__(self) -> None:
        self.begin = self.last = (_cpu_s(), time.perf_counter())

    def read_stage(self, stage: str) -> tuple[float, float]:
        """CPU and wall seconds since the beginning."""
        now = (_cpu_s(), time.perf_counter())
        cpu, wall = (a - b for a, b in zip(now, self.last, strict=True))
        print(f"  {stage:<34}{cpu:7.2f} CPU s {wall:7.2f} s wall {_rss_mib():6} MiB", flush=True)
        self.last = now
        return now[0] - self.begin[0], now[1] - self.begin[1]


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rss_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def sources_of(folder: Path, form: str) -> Sources:
    """The files of one form."""
    beside = {"domains": folder / "domains.parquet", "zones": folder / "zones.parquet"}
    if form == "texts":
        return Sources(folder / "records.parquet", **beside)
    return Sources(
        folder / "numbered.parquet", folder / "names.parquet", folder / "values.parquet", **beside
    )


def run_form(folder: Path, form: str, memory_mb: int) -> None:
    """All tables of one form, with their digest."""
    table = PrefixTable.build(Clouds(SEED).files())
    table.addresses.match_text(pa.array(["192.0.2.1"] * (1 << 18)))
    table.label_table()
    clock = Clock()
    sources = sources_of(folder, form)
    with tempfile.TemporaryDirectory() as spill:
        connection = open_connection(Path(spill), memory_mb)
        read_records(connection, sources)
        clock.read_stage("distinct facts")
        place_records(connection, sources, table)
        clock.read_stage("places and labels")
        find_uses(connection)
        clock.read_stage("cloud-using names")
        prepare_study(connection)
        clock.read_stage("zones, customers, outages")
        tables = build_tables(connection)
        cpu, wall = clock.read_stage(f"{len(tables)} tables")
    complaints = check_tables(tables)
    print(f"{form}: {cpu:.1f} CPU s, {wall:.1f} s wall, {_rss_mib()} MiB, digest {digest(tables)}")
    print(f"  complaints: {complaints or 'none'}; gates {GATES[form]}")


def digest(tables: dict[str, Table]) -> str:
    """A digest of all rows of all tables."""
    rows = json.dumps({name: table.as_json() for name, table in sorted(tables.items())})
    return hashlib.sha256(rows.encode()).hexdigest()[:16]


def main() -> None:
    """Generate what is missing, run both forms, delete what was generated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--names", type=int, default=NAMES)
    parser.add_argument("--memory-mb", type=int, default=1024)
    parser.add_argument("--folder", type=Path, help="records that are kept, or were")
    parser.add_argument("--form", choices=GATES)
    options = parser.parse_args()
    if options.form:
        run_form(options.folder, options.form, options.memory_mb)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "records.parquet").exists():
            write_folder(folder, options.records, options.names)
        for form in GATES:
            command = [sys.executable, "-m", "benchmarks.study.tables", "--form", form]
            command += ["--folder", str(folder), "--memory-mb", str(options.memory_mb)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
