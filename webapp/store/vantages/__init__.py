"""Vantage points: state, history, searches at public networks."""
