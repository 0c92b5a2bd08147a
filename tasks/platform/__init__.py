"""The Celery application, Valkey addresses, TLS, leases, checkpoints, backup."""
