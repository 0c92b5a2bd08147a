"""The k-region problem: samples, objective, constraints and integer costs.

Takes values per region, client and round, gives ``Costs`` and ``Limits`` for the solver. May import
``core`` only. Example::

    costs, limits = cost(samples, Objective()), limit(samples.regions, Constraints())
"""
