"""Aggregation of samples by vantage point, target and round.

Takes samples as an Arrow table or Parquet files, gives counts, means and exact quantiles per
cell. May import ``core`` and ``analysis.campaigns.importers.csv_columns``. Example::

    grid = summarise(samples, ("vantage", "region"))  # n, sent, lost, mean, p50, p95 …
"""
