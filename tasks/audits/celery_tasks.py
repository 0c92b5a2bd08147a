"""Celery tasks of audits: they carry audit ids and are idempotent."""

import logging

from tasks.audits import stored_audit
from tasks.platform.app import app
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost, queue_row
from tasks.platform.log_context import add_log_fields
from webapp.store.audits import services
from webapp.store.models import Audit

log = logging.getLogger(__name__)


def submit(row: Audit) -> None:
    """Queue an audit once its row is committed; a broker that is away loses nothing."""
    queue_committed(run, row.pk)


@app.task(name="tasks.audits.run")
def run(pk: int) -> None:
    """Run one audit unless another worker has it."""
    row = claim_row(pk, services.claim, services.fail, services.MAX_ATTEMPTS)
    if row is None:
        return
    add_log_fields(audit=row.slug)
    stored_audit.run(row, in_worker=True)
    log.info("audit %s attempt %s", row.slug, row.attempt)


@app.task(name="tasks.audits.survey_ended")
def survey_ended(survey_id: int) -> None:
    """Queue the audits that wait for a survey."""
    for pk in services.waiting_for(survey_id):
        queue_row(run, pk)


@app.task(name="tasks.audits.sweep")
def requeue_lost() -> None:
    """Queue audits that a broker or a worker lost, and those with a finished survey."""
    queue_lost(run, services.JOBS.waiting())
