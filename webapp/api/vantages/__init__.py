"""Vantage points and public networks."""
