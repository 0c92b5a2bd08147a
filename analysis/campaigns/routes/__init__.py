"""Routes of a campaign: owner of each hop, downstream ISP, ISP diversity (IMC'13 Table 14).

Takes paths as Arrow tables or Parquet files and look-up functions for origin ASes and clouds,
gives one route per path and tables of diversity. May import ``analysis.campaigns.importers`` and
``core``. Example::

    routes = find_isps(paths, Addresses(find_origins, find_clouds))
    rows = diversity_table(routes)
"""
