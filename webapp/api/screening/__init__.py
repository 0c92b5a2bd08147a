"""Pools of screened machines, and the intake of agents' reports."""
