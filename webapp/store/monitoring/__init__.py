"""Counts and ages of what is stored, and what this installation needs to work."""
