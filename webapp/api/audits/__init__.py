"""REST API v1 of audits, saved domain lists and policies, and suppressions."""
