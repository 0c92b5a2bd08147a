"""Celery tasks of simulations: they carry ids and are idempotent."""

import logging
import time
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from core.errors import NephoscopeError
from simulator.experiments.registry import check_seed, find_experiment, run_experiment
from tasks.platform.app import AWAY, app, queue
from tasks.surveys.celery_tasks import queue_unless_queued
from webapp.store.models import Simulation
from webapp.store.simulations import services

log = logging.getLogger(__name__)
# Between two writes of progress.
_REPORT_S = 0.5


class _Cancelled(Exception):
    """The run was cancelled, or another worker has it."""


def start(experiment: str, parameters: Mapping[str, Any], seed: int, owner: Any) -> Simulation:
    """Check and store a run and queue it; raises ``BadInput`` and ``TooManySimulations``."""
    checked = find_experiment(experiment).check(parameters)
    row = services.create(experiment, checked, check_seed(seed), owner)
    transaction.on_commit(lambda: _queue(row.pk))
    return row


def _queue(pk: int) -> None:
    try:
        queue(run, pk)
    except AWAY as error:
        log.warning("simulation %s waits for the broker: %s", pk, error)


@app.task(name="tasks.simulations.run")
def run(pk: int) -> None:
    """Run one simulation unless another worker has it."""
    row = services.claim(pk)
    if row is None:
        return
    if row.attempt > services.MAX_ATTEMPTS:
        services.fail(row, "its workers ended before it did, three times")
        return
    try:
        _run(row)
    except _Cancelled:
        log.info("simulation %s was cancelled", pk)
    except NephoscopeError as error:
        services.fail(row, str(error))


def _run(row: Simulation) -> None:
    written = 0.0

    def report(share: float) -> None:
        nonlocal written
        if time.monotonic() - written < _REPORT_S:
            return
        written = time.monotonic()
        if not services.renew(row, share):
            raise _Cancelled

    outcome = run_experiment(row.experiment, row.parameters, row.seed, report)
    services.finish(row, outcome.as_json(), outcome.headline, outcome.run.charts)


@app.task(name="tasks.simulations.sweep")
def requeue_lost() -> None:
    """Queue simulations that a broker or a worker lost."""
    for pk, attempt in services.waiting():
        queue_unless_queued(run, pk, attempt)
