"""Latency, throughput and routes from many places to many regions."""
