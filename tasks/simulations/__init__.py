"""Run experiments of the simulator: at once for commands, in a worker for pages and the API."""
