"""Deletion and export of what an account owns; copies of the database."""
