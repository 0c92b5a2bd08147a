"""Accounts, sharing and share links."""
