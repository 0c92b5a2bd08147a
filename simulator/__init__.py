"""Simulation of what happens inside a data centre: hosts, hypervisors, switches, topologies.

Takes the parameters of an experiment, gives its figures beside the published ones
(``simulator.experiments``). May import ``core``; knows neither Django nor Celery. Example::

    outcome = run_experiment("topology", {"kind": "fat-tree", "k": 8}, seed=1)
"""
