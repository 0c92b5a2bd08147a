"""Subdomains of domains: apex queries, sources, wildcard detection, results per domain."""
