"""Celery tasks of audits: they carry audit ids and are idempotent."""

import logging

from django.db import transaction

from tasks.audits import stored_audit
from tasks.platform.app import AWAY, app, queue
from tasks.platform.log_context import add_log_fields
from tasks.surveys.celery_tasks import queue_unless_queued
from webapp.store.audits import services
from webapp.store.models import Audit

log = logging.getLogger(__name__)


def submit(row: Audit) -> None:
    """Queue an audit once its row is committed; a broker that is away loses nothing."""
    transaction.on_commit(lambda: _queue(row.pk))


def _queue(pk: int) -> None:
    try:
        queue(run, pk)
    except AWAY as error:
        log.warning("audit %s waits for the broker: %s", pk, error)


@app.task(name="tasks.audits.run")
def run(pk: int) -> None:
    """Run one audit unless another worker has it."""
    row = services.claim(pk)
    if row is None:
        return
    add_log_fields(audit=row.slug)
    if row.attempt > services.MAX_ATTEMPTS:
        services.fail(row, "its workers ended repeatedly")
        return
    stored_audit.run(row, in_worker=True)
    log.info("audit %s attempt %s", row.slug, row.attempt)


@app.task(name="tasks.audits.survey_ended")
def survey_ended(survey_id: int) -> None:
    """Queue the audits that wait for a survey."""
    for pk in services.waiting_for(survey_id):
        _queue(pk)


@app.task(name="tasks.audits.sweep")
def requeue_lost() -> None:
    """Queue audits that a broker or a worker lost, and those with a finished survey."""
    for pk, attempt in services.waiting():
        queue_unless_queued(run, pk, attempt)
