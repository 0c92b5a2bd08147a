"""Reports of single probes, and what each pair of vantage point and region is suitable for.

Takes samples as an Arrow table or Parquet files, gives Arrow tables. A probe's report is one module
with a ``REPORT`` in ``kinds``, which ``registry.py`` finds. May import
``analysis.campaigns.importers`` and ``core``. Example::

    tables = build_probe_tables(sorted(folder.glob("samples-*.parquet")))
    print(tables["probe-http"].to_pandas())
"""
