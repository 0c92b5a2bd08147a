"""Domain and name lists as input; JSON lines and Parquet as output."""
