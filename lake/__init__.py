"""Columnar observations: schemas, atomic Parquet parts, DuckDB access."""
