"""The report's tables on Apache Spark, from the same queries as on DuckDB."""
