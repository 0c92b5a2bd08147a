"""Zones of a survey's addresses from vantage points inside clouds and from uploads, repeatedly.

Takes sources of ``webapp.store.zones`` and parts of campaigns, gives the lake table ``zones`` of a
survey; ``cartography.zones`` infers. Example: ``celery_tasks.request(survey)``.
"""
