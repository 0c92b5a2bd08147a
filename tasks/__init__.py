"""The order of the stages: Celery tasks and the functions behind commands."""
