"""Uploads of traffic logs: files, limits, leases, and which imports a reader may see.

Takes files as they were sent; ``tasks.traffic`` reads them. May import ``webapp.store.access`` and
``webapp.store.models``. Example: ``services.create(owner, "campus", files, options)``.
"""
