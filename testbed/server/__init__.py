"""The DNS server of a world over UDP and TCP."""
