"""Experiments: declared parameters, a function of them, and the published figures to compare with.

Takes parameters and a seed, gives an ``Outcome``. May import the models of ``simulator``. Example::

    run_experiment("vm-scheduling", {"requests": 2000}, seed=1).results[0].within
"""
