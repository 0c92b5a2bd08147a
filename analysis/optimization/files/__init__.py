"""Readers of latency matrices and tables of values; errors name the line.

Takes a path, gives ``Samples`` or client weights. May import ``optimization.model`` and ``core``.
Example::

    samples = read_samples(Path("latencies.csv"))
"""
