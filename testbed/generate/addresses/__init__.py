"""Addresses of a world's names: instances, shared pools, supply by prefix."""
