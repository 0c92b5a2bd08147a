"""Celery tasks of schedules and alerts; each may be lost or run twice without harm."""

import logging

from core.clock import SystemClock
from tasks.platform.app import ALERTS, app
from tasks.platform.leased_rows import mark_started, queue_unless_queued
from tasks.schedules import delivery, recurrence, sending
from webapp.store.models import AlertEndpoint, ScheduleRun
from webapp.store.schedules import deliveries, services

log = logging.getLogger(__name__)
# A task that lies in the queue is not queued again within this time.
_QUEUED_S = 60


@app.task(name="tasks.schedules.tick")
def tick() -> None:
    """Start what is due and hand on what has ended, once a minute."""
    recurrence.tick(
        SystemClock().now(), lambda run: queue_unless_queued(conclude, run.pk, for_s=_QUEUED_S)
    )


@app.task(name="tasks.schedules.conclude")
def conclude(run_id: int) -> None:
    """Compare a run that has ended with the one before, and send its alerts."""
    run = services.open_runs(ScheduleRun.State.STARTED).filter(pk=run_id).first()
    if run is None:
        return
    recurrence.conclude_run(run, SystemClock().now())
    deliver_due()


@app.task(name="tasks.schedules.deliver_due")
def deliver_due() -> None:
    """Queue the endpoints that have a message to be sent now."""
    for endpoint_id in deliveries.due_endpoints(SystemClock().now()):
        queue_unless_queued(deliver, endpoint_id, name=ALERTS, for_s=_QUEUED_S)


@app.task(name="tasks.schedules.deliver")
def deliver(endpoint_id: int) -> None:
    """Send the waiting messages of one endpoint."""
    mark_started(deliver, endpoint_id)
    delivery.deliver(endpoint_id, SystemClock())


@app.task(name="tasks.schedules.confirm")
def confirm(endpoint_id: int) -> None:
    """Send the confirmation of an e-mail address."""
    row = AlertEndpoint.objects.filter(
        pk=endpoint_id, state=AlertEndpoint.State.UNCONFIRMED
    ).first()
    if row is not None and not sending.send_confirmation(row):
        log.warning("the confirmation of endpoint %s could not be sent", row.slug)


def request_delivery(endpoint: AlertEndpoint) -> None:
    """Have the waiting messages of an endpoint sent; without a broker the next sweep does so."""
    queue_unless_queued(deliver, endpoint.pk, name=ALERTS, for_s=_QUEUED_S)


def request_confirmation(endpoint: AlertEndpoint) -> None:
    """Have the confirmation of an e-mail address sent."""
    queue_unless_queued(confirm, endpoint.pk, name=ALERTS, for_s=_QUEUED_S)
