"""Pools: settings, reports, verdicts, logs."""
