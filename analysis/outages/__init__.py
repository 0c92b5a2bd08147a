"""Names and domains affected by an outage of a provider, region, zone or name-server operator.

Takes a connection with the tables of ``analysis.deployment``, gives report tables. May import
``analysis.deployment`` and ``core``. Example::

    compute_outages(connection)
    table = outages(connection)
"""
