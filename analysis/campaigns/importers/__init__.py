"""Importers of result files of other tools and networks.

Takes files of one format per reader, gives Arrow tables of samples and paths, and the number of
unreadable results by reason. May import ``core``, ``lake`` and ``analysis.optimization.files``.
Example::

    imported = read_scamper([Path("pings.json")])
    print(imported.samples.num_rows, imported.reasons)
"""
