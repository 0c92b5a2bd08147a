"""Branch and bound with subgradient bounds and Benders cuts for the mean and the percentile.

Takes costs and constraints, gives the best sets with a certificate of optimality.
"""
