"""Statistics and optimization over observations: report tables, best regions, campaigns, traffic.

Takes lake tables and records, gives tables and records. Imports ``core`` and ``lake`` only.
"""
