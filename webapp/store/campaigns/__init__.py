"""Measurement campaigns: plans, units, progress, finished tables, samples."""
