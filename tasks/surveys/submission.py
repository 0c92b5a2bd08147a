"""Handing a stored survey to the workers."""

from tasks.platform.leased_rows import queue_committed
from tasks.surveys.celery_tasks import start
from webapp.store.models import Survey


def submit(survey: Survey) -> None:
    """Queue a survey once its row is committed.

    A broker that does not answer loses nothing: the survey waits in the store, and the sweep
    queues it as soon as the broker is back.
    """
    queue_committed(start, survey.pk)
