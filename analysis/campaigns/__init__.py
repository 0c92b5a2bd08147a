"""Measurement campaigns: latency, throughput and routes from vantage points to regions.

``importers`` read result files, ``aggregation`` groups samples, ``routes`` finds downstream ISPs,
``tables`` builds the report tables.
"""
