"""Celery tasks of zones: they carry ids and are idempotent."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from lake.parts import part_path, write_part
from tasks.platform.app import app
from tasks.platform.lease import Lease
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost, run_row
from tasks.surveys import study
from tasks.zones.observations import count_rows, infer
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import Survey, ZoneInference, ZoneSource
from webapp.store.zones import services

log = logging.getLogger(__name__)


def add_file(survey: Survey, kind: str, name: str, data: bytes) -> ZoneSource:
    """Check and store a file of observations, and infer again; raises ``BadInput``."""
    row = services.add_file(survey, kind, name or f"{kind}.csv", data, count_rows(kind, data))
    request(survey)
    return row


def request(survey: Survey) -> ZoneInference:
    """Queue an inference of a survey's zones."""
    row = services.request(survey)
    queue_committed(run, row.pk)
    return row


@app.task(name="tasks.zones.infer")
def run(pk: int) -> None:
    """Infer the zones of one survey unless another worker does."""
    jobs = services.INFERENCES
    row = claim_row(pk, jobs.claim, jobs.fail, MAX_ATTEMPTS)
    if row is not None:
        run_row(row, _run, jobs.fail, jobs.requeue)


def _run(row: ZoneInference) -> None:
    survey = row.survey

    def renew(counters: Mapping[str, Any]) -> bool:
        return services.INFERENCES.renew(row)

    with Lease(f"zones of {survey.slug}", renew) as lease:
        found = infer(survey)
        lease.confirm()
        path = part_path(Path(settings.LAKE_DIR), survey.slug, "zones", study.BROUGHT)
        write_part(path, "zones", found.rows)
        study.recompute(survey)
    services.INFERENCES.finish(row, summary=dict(found.summary), observed_at=found.newest)
    log.info("zones of %s: %s addresses", survey.slug, len(found.rows))


@app.task(name="tasks.zones.sweep")
def queue_waiting() -> None:
    """Ask for inferences with new observations; queue those that a broker or worker lost."""
    for survey in services.with_news():
        services.request(survey)
    queue_lost(run, services.INFERENCES.waiting())
