"""Traffic captures: list, read, upload, delete."""
