"""Addresses to places: provider, service, region, zone and front-end pattern, with evidence.

Imports ``core`` and ``lake`` only; see README.md.
"""
