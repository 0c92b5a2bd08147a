"""Comparisons, histories, outages and traffic of surveys."""
