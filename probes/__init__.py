"""Measurements: one module per probe, the packets behind them, schedules, public networks.

Imports ``core`` only; see README.md.
"""
