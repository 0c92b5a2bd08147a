"""Celery tasks of simulations: they carry ids and are idempotent."""

import logging
from collections.abc import Mapping
from typing import Any

from simulator.experiments.registry import check_seed, find_experiment, run_experiment
from tasks.platform.app import app
from tasks.platform.lease import Lease
from tasks.platform.leased_rows import claim_row, queue_committed, queue_lost, run_row
from tasks.simulations import catalogue
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import Simulation
from webapp.store.simulations import services
from webapp.store.simulations.services import TooManySimulations

log = logging.getLogger(__name__)


def start(experiment: str, parameters: Mapping[str, Any], seed: int, owner: Any) -> Simulation:
    """Check and store a run and queue it; raises ``BadInput`` and ``TooManySimulations``."""
    checked = find_experiment(experiment).check(parameters)
    row = services.create(experiment, checked, check_seed(seed), owner)
    queue_committed(run, row.pk)
    return row


def start_published() -> list[Simulation]:
    """Start a public run of each experiment with the parameters of its paper that has none yet.

    As many as may wait at once; the rest at the next call.
    """
    defaults = catalogue.published_parameters()
    known = services.find_findings(defaults)
    started = []
    for name in defaults:
        if name not in known:
            try:
                started.append(start(name, {}, 1, None))
            except TooManySimulations:
                break
    return started


@app.task(name="tasks.simulations.run")
def run(pk: int) -> None:
    """Run one simulation unless another worker has it."""
    row = claim_row(pk, services.claim, services.RUNS.fail, MAX_ATTEMPTS)
    if row is not None:
        run_row(row, _run, services.RUNS.fail)


def _run(row: Simulation) -> None:
    """Run a leased simulation; the lease is renewed beside it, also while loops are compiled."""

    def renew(counters: Mapping[str, Any]) -> bool:
        return services.renew(row, counters.get("share", 0.0))

    with Lease(f"simulation {row.pk}", renew) as lease:

        def report(share: float) -> None:
            if lease.wants_counters():
                lease.count({"share": share})

        outcome = run_experiment(row.experiment, row.parameters, row.seed, report)
    services.finish(row, outcome.as_json(), outcome.headline, outcome.run.charts)


@app.task(name="tasks.simulations.sweep")
def requeue_lost() -> None:
    """Queue simulations that a broker or a worker lost."""
    queue_lost(run, services.RUNS.waiting())
