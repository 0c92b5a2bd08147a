"""Celery tasks that build derived files and reports, and how pages request them.

Asking queues a task once; its progress is in ``webapp.store.surveys.derived``. No page ever makes a
derived file itself.
"""

import logging
from collections.abc import Mapping
from typing import Any

from celery import Task

from core.errors import BadInput
from core.files import unpack
from tasks.platform.app import AWAY, app, queue
from tasks.platform.lease import Lease
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost, run_row
from tasks.surveys import study
from tasks.surveys.derived import compare_surveys, index_survey
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import CustomerFile, Survey
from webapp.store.surveys import derived, uploads

# Rows of an uploaded file of customer countries.
MAX_CUSTOMER_ROWS, MAX_CUSTOMER_BYTES = 500_000, 30_000_000
log = logging.getLogger(__name__)


@app.task(name="tasks.errands.index")
def index(survey_id: int) -> None:
    """Run ``index_survey``."""
    index_survey(Survey.objects.get(pk=survey_id))


@app.task(name="tasks.errands.changes")
def changes(before_id: int, after_id: int) -> None:
    """Run ``compare_surveys``."""
    compare_surveys(Survey.objects.get(pk=before_id), Survey.objects.get(pk=after_id))


def add_customers(survey: Survey, name: str, data: bytes) -> CustomerFile:
    """Store the customer countries of a file, plain or gzip, and have the report computed again.

    Raises ``BadInput`` naming the line, or the file; the countries of before remain then.
    """
    rows = study.read_customers(unpack(data, MAX_CUSTOMER_BYTES))
    if not 0 < len(rows) <= MAX_CUSTOMER_ROWS:
        text = "the file has no rows" if not rows else f"more than {MAX_CUSTOMER_ROWS:,} rows"
        raise BadInput(text, field="file")
    study.write_customers(survey, rows)
    return _report(survey, name, len(rows))


def remove_customers(survey: Survey) -> CustomerFile:
    """Remove the customer countries of a survey, and have the report computed again."""
    study.write_customers(survey, [])
    return _report(survey, "", 0)


def _report(survey: Survey, name: str, rows: int) -> CustomerFile:
    row = uploads.request_customers(survey, name, rows)
    queue_committed(report_customers, row.pk)
    return row


@app.task(name="tasks.derived.customers")
def report_customers(pk: int) -> None:
    """Compute a survey's report with its customer countries, unless another worker does."""
    jobs = uploads.CUSTOMER_FILES
    row = claim_row(pk, jobs.claim, jobs.fail, MAX_ATTEMPTS)
    if row is not None:
        run_row(row, _report_customers, jobs.fail, jobs.requeue)


def _report_customers(row: CustomerFile) -> None:
    def renew(counters: Mapping[str, Any]) -> bool:
        return uploads.CUSTOMER_FILES.renew(row)

    with Lease(f"customers of {row.survey.slug}", renew):
        study.recompute(row.survey)
    uploads.CUSTOMER_FILES.finish(row)


@app.task(name="tasks.derived.sweep")
def queue_waiting() -> None:
    """Queue reports that a broker or a worker lost."""
    queue_lost(report_customers, uploads.CUSTOMER_FILES.waiting())


def request_index(survey: Survey) -> None:
    """Have the index made by a worker, unless it exists, is under way or has failed."""
    place = derived.index_of(survey)
    if survey.is_final and place.state()["state"] == derived.MISSING:
        _queue(place, index, survey.pk)


def request_comparison(before: Survey, after: Survey, again: bool = False) -> None:
    """The same for a comparison; ``again`` also after a failure."""
    place = derived.comparison_of(before, after)
    wanted = (derived.MISSING, derived.FAILED) if again else (derived.MISSING,)
    if place.state()["state"] in wanted:
        _queue(place, changes, before.pk, after.pk)


def _queue(place: derived.Derived, task: Task, *ids: int) -> None:
    try:
        queue(task, *ids)
        place.write_progress(derived.WAITING, "waiting for a worker")
    except AWAY as error:
        place.write_progress(
            derived.FAILED, error="no worker can be reached, since their queue is away"
        )
        log.warning("%s waits for the broker: %s", place.folder.name, error)
