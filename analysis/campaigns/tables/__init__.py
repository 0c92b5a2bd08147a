"""The report tables of a campaign, each with its columns and headline.

Takes samples and routes as Arrow tables or Parquet files, gives small tables and Arrow tables.
May import ``analysis.campaigns``, ``analysis.optimization`` and ``core``. Example::

    tables = build_tables(sorted(folder.glob("samples-*.parquet")))
    print(tables.reports[0].headline)
"""
