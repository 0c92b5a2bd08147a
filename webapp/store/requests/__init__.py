"""Requests: body progress, idempotency keys, failures of storage, one list at a time."""
