"""Survey reports: tables with headlines, consistency checks, method notes, published values.

Takes the lake's parts of a survey, gives report tables and texts about them. May import
``analysis.deployment``, ``analysis.outages``, ``core`` and ``lake``. Example::

    tables = compute_tables(Path("var/lake"), "spring-2013")
    assert check_tables(tables) == []
"""
