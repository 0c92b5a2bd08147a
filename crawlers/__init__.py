"""Domain lists, the bulk DNS engine, the iterative resolver and the enumeration of subdomains.

Imports ``core`` and ``lake`` only; see README.md.
"""
