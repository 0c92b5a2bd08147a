"""The impact of a set of regions on clients: latency, distance, failures, availability, cost.

Takes a ``Study``, chosen regions and attributes of clients and regions; gives statistics per set.
May import ``analysis.optimization``, ``analysis.deployment.countries`` and ``core``. Example::

    assignment = serve(study, ("aws/us-east-1", "aws/eu-west-1"))
    print(spread(assignment).mean)
"""
