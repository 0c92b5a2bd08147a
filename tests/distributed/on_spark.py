"""All tables of a folder of records on Spark, as JSON on standard output."""

import json
import sys
import tempfile
from pathlib import Path
from typing import cast

from analysis.reporting.survey_tables import build_tables
from benchmarks.study.world import Clouds
from cartography.placement.cloud_table import PrefixTable
from tasks.surveys.record_placement import open_records_on_spark
from tasks.surveys.record_study import Connection, Sources

MASTER, MEMORY_MB = "local[2]", 2048


def sources_of(folder: Path) -> Sources:
    """The records of a folder with what is beside them."""
    beside = {"domains": folder / "domains.parquet", "zones": folder / "zones.parquet"}
    return Sources(folder / "records.parquet", **beside)


def main() -> None:
    """Compute and print."""
    table = PrefixTable.build(Clouds(1).files())
    sources = sources_of(Path(sys.argv[1]))
    with (
        tempfile.TemporaryDirectory() as work,
        open_records_on_spark(sources, table, Path(work), MASTER, MEMORY_MB) as connection,
    ):
        tables = build_tables(cast("Connection", connection))
    documents = {table_id: made.as_json() for table_id, made in tables.items()}
    sys.stdout.write(json.dumps(documents) + "\n")


if __name__ == "__main__":
    main()
