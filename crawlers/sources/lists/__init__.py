"""Readers of name lists of any length: lines, JSON, columns."""
