"""Audits: their rows, findings as files, saved domain lists and policies, suppressions."""
