"""Interference between tenants of one host, measured on this machine beside its simulation."""
