"""Proof of control of a domain or an address, by a TXT record or a file."""
