"""Screening of VM instances: the agent, its reports, verdicts and their statistics.

Imports ``core`` only.
"""
