"""Samples of a campaign grouped by vantage point, target and round.

Takes batches of samples, gives counts, means and quantiles per cell.
"""
