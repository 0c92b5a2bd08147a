"""Pages of audits, saved domain lists and policies, and suppressions."""
