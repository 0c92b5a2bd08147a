"""Schedules with their runs and events; endpoints of alerts and the deliveries to them."""
