"""Schedules of measurement campaigns: who measures what when, and at what cost."""
