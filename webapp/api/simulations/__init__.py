"""Experiments of the simulator and their runs."""
