"""Surveys: shards, uploads, reports, index, derived files."""
