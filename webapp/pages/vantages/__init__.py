"""Vantage points: list, map, invitation, enlistment of public probes."""
