"""Handing a stored survey to the workers."""

import logging

from django.db import transaction

from tasks.platform.app import AWAY, queue
from tasks.surveys.celery_tasks import start
from webapp.store.models import Survey

log = logging.getLogger(__name__)


def submit(survey: Survey) -> None:
    """Queue a survey once its row is committed.

    A broker that does not answer loses nothing: the survey waits in the store, and the sweep
    queues it as soon as the broker is back.
    """
    transaction.on_commit(lambda: _queue(survey))


def _queue(survey: Survey) -> None:
    try:
        queue(start, survey.pk)
    except AWAY as error:
        log.warning("survey %s waits for the broker: %s", survey.slug, error)
