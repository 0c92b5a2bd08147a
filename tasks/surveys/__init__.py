"""Surveys: submission, shards, second pass, reports, derived files, exports."""
