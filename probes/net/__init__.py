"""Network access of probes: the SSRF guard, UDP exchanges, one HTTP GET, deadlines."""
