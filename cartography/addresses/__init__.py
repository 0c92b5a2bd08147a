"""Longest-prefix matching: parsed addresses, disjoint intervals, a bucket index, kernels."""
