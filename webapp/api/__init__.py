"""REST API v1, one package per subject."""
