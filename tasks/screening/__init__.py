"""Screening: analysis of pools, uploaded logs, pay-off, the agent as a file."""
