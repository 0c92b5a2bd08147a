"""Pools, instances, logs and pay-off of screening."""
