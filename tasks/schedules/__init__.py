"""Schedules: what recurs is started, compared with the run before, and alerted."""
