"""The k-region problem under the loss of one region: robust sets and latency limits after a loss.

Takes costs and limits, gives a ``Solution`` with certificate. May import ``optimization.model`` and
``optimization.solver``. Example::

    solution = solve_robust(costs, limits, 3, Aim())
"""
