"""Recommendations: constraints, answer, curve, service map."""
