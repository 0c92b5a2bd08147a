"""The portable study on one engine: Parquet files of records and ranges in, JSON rows out."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.portable_sql import RESULTS, VIEWS  # noqa: E402


def rows_by_table(query):
    """Sorted rows of every result, by a function that runs a query and gives rows."""
    return {
        name: sorted([list(row) for row in query(sql)], key=str) for name, sql in RESULTS.items()
    }


def run_on_spark(folder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for key, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        for name in ("records", "ranges"):
            spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
        for name, sql in VIEWS.items():
            spark.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")
        spark.table("uses_of").cache()
        spark.table("located").cache()
        return rows_by_table(lambda sql: spark.sql(sql).collect())
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_on_spark(Path(sys.argv[1]))) + "\n")
