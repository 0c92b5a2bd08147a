"""Branch and bound with subgradient bounds and Benders cuts for the mean and the percentile.

Takes ``Costs`` and ``Limits``, gives the best sets with a certificate of optimality. May import
``optimization.model`` and ``core``. Example::

    solution = solve_mean(costs, limits, 3, Aim())
"""
