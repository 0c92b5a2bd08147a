"""Runs of experiments: create, lease, renew, finish, cancel, delete."""
