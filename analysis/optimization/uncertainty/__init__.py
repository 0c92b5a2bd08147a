"""Uncertainty of a recommendation: bootstrap intervals, regret, IMC'13 Figure 16.

Takes a ``Study`` and recommendations, gives intervals and marginal values. May import the rest of
``analysis.optimization``. Example::

    intervals = doubt(study, study.curve(range(1, 5)))
"""
