"""Pages of schedules, and of the endpoints that alerts are sent to."""
