"""Deployment patterns of a survey: IMC'13 Tables 5 to 13, Figures 10 to 13.

Takes a DuckDB connection of ``open_names`` over the lake, gives report tables. May import ``core``
and ``lake``. Example::

    with open_names(Path("var/lake"), "spring-2013") as connection:
        table = providers(connection)
"""
