"""Measurement campaigns: plan, start, watch; tables and samples."""
