"""Placements: provider tables by longest prefix, and the place of each address, name and name
server.
"""
