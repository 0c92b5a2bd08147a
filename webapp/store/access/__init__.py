"""Visibility of rows, accounts, tokens, share links, login throttling."""
