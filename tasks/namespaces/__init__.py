"""Campaigns in the emulated network of ``testbed.namespaces``, compared with its truth."""
