"""Web servers' access logs as counts of requests by country, city and network of the clients.

An address exists in memory while its block of lines is counted, and nowhere else.
"""
