"""Measurement campaigns: schedule, dispatch, collect results, conclude, import."""
