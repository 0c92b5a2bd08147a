"""Vantage points at the centre: enrolment and heartbeats."""
