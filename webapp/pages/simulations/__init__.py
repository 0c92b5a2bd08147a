"""Experiments inside the data centre: list, form, run with its charts."""
