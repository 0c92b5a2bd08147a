"""Zones: own instances, targets and round trips in; each target's zone, or why it is unknown."""
