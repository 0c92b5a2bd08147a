"""Runs of experiments in workers: leases, cancellation, limits, restarts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from core.errors import BadInput
from tasks.platform import lease, leased_rows
from tasks.simulations import catalogue, celery_tasks
from webapp.store.leases import MAX_ATTEMPTS
from webapp.store.models import Simulation
from webapp.store.simulations import services
from webapp.store.simulations.services import TooManySimulations

pytestmark = pytest.mark.django_db
GIVEN = {"kind": "fat-tree", "k": 4, "failure_rounds": 2}


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    """What was queued, instead of a broker."""
    found = []
    monkeypatch.setattr(leased_rows, "queue", lambda task, pk: found.append(pk))
    return found


def start(**given):
    return celery_tasks.start("topology", {**GIVEN, **given}, 5, None)


def test_a_run_whose_worker_died_is_run_again_from_its_beginning():
    row = start()
    services.claim(row.pk)
    assert services.claim(row.pk) is None
    assert services.RUNS.waiting() == []
    Simulation.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert services.RUNS.waiting() == [(row.pk, 1)]
    celery_tasks.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.attempt, row.progress) == ("finished", 2, 1.0)
    other = start()
    celery_tasks.run(other.pk)
    other.refresh_from_db()
    assert other.result["results"] == row.result["results"]


def test_a_late_worker_stores_nothing():
    row = start()
    late = services.claim(row.pk)
    Simulation.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    services.claim(row.pk)
    assert not services.finish(late, {"results": []}, "", [])
    assert not services.renew(late, 0.5)


def test_a_run_that_lost_its_lease_ends_without_figures(monkeypatch):
    row = start(failure_rounds=1000)
    monkeypatch.setattr(lease, "RENEW_EVERY_S", 0.001)
    asked = []
    # As if the run had been cancelled: the thread that renews has a connection of its own.
    monkeypatch.setattr(services, "renew", lambda held, share: bool(asked.append(share)))
    celery_tasks.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.result) == ("running", None)
    assert asked


def test_a_run_that_ends_its_workers_is_given_up():
    row = start()
    Simulation.objects.update(attempt=MAX_ATTEMPTS)
    celery_tasks.run(row.pk)
    row.refresh_from_db()
    assert row.state == "failed"
    assert "3 times" in row.error


def test_what_cannot_be_wired_fails_with_its_reason():
    row = start(k=7)
    celery_tasks.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.error) == ("failed", "k: 7 is not an even number from 2")


def test_a_wrong_parameter_is_not_stored():
    with pytest.raises(BadInput, match="kind"):
        start(kind="torus")
    with pytest.raises(BadInput, match="seed"):
        celery_tasks.start("topology", GIVEN, -1, None)
    assert not Simulation.objects.exists()


def test_more_runs_than_allowed_are_refused_until_one_ends():
    rows = [start() for _ in range(services.MAX_OPEN)]
    with pytest.raises(TooManySimulations):
        start()
    services.cancel(rows[0])
    start()


def test_expired_anonymous_runs_are_deleted():
    row = start()
    services.cancel(row)
    old = timezone.now() - timedelta(days=services.KEPT_DAYS + 1)
    Simulation.objects.update(finished_at=old)
    start()
    assert not Simulation.objects.filter(pk=row.pk).exists()


def test_public_runs_with_the_parameters_of_papers_are_started_once(queued):
    started = celery_tasks.start_published()
    assert len(started) == services.MAX_OPEN
    assert len({row.experiment for row in started}) == services.MAX_OPEN
    for row in started:
        services.finish(services.claim(row.pk), {"results": []}, "A finding", [])
    found = services.find_findings(catalogue.published_parameters())
    assert {row.experiment for row in started} == set(found)
    again = celery_tasks.start_published()
    assert not {row.experiment for row in again} & set(found)
