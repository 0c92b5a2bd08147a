"""Traffic logs: import and report documents."""
