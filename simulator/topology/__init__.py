"""Data-centre topologies: wiring, and what follows from it.

Takes the kind of a topology and its sizes, gives a ``Topology`` and its metrics. May import
``core``. Example::

    measure(build_fat_tree(8), seed=1).paths_between_pods
"""
