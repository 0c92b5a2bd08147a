"""Accounts: credentials, organisations, proofs of domain control, the log of events."""
