"""Infer the availability zone of each target from own instances and round trips."""
