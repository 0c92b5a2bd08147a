"""The report of each probe: statistics with units, shares, and limits of uses with their sources.

Every module with a ``REPORT`` is found by ``analysis.campaigns.probe_reports.registry``. May import
``analysis.campaigns.probe_reports.probe_report``. Example: ``jitter.REPORT.limits``.
"""
