"""The scheduler of measurement campaigns: begins, sends, gives up and concludes, step by step.

All of its state is in the store, so that it may end and start again at any moment; each step
changes a row only as long as it is as it was seen.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from celery import Task
from django.db import DatabaseError, close_old_connections

from core.clock import Clock, SystemClock
from core.errors import NephoscopeError, Unavailable
from tasks.campaigns import conclusion, dispatch
from tasks.campaigns.dispatch import Ways
from tasks.platform.app import app
from tasks.platform.leased_rows import queue_unless_queued
from webapp.store.campaigns import services, units
from webapp.store.models import Campaign, CampaignUnit, VantagePoint

log = logging.getLogger(__name__)
TICK_S = 1.0
# The report of a large campaign is slow; after this it is taken for lost.
_QUEUED_S = 60


def run(stop: threading.Event, clock: Clock | None = None) -> None:
    """Tick until it is stopped."""
    while not stop.is_set():
        close_old_connections()
        try:
            tick(clock)
        except DatabaseError as error:
            log.warning("the scheduler waits for the store: %s", error)
        stop.wait(TICK_S)


@app.task(name="tasks.campaigns.sweep")
def run_scheduler() -> None:
    """One step of the scheduler, asked for every few seconds."""
    tick()


@dataclass(frozen=True)
class Outlets:
    """Where a step's work goes: orders by the ways of their sources, tables to a worker."""

    ways: Ways
    leave: Callable[[Task, Campaign], None]


def tick(clock: Clock | None = None, outlets: Outlets | None = None) -> None:
    """Take every open campaign one step further; one that cannot continue stops no other."""
    clock = clock or SystemClock()
    outlets = outlets or Outlets(dispatch.WAYS, _queue)
    for campaign in services.open_campaigns():
        try:
            advance(campaign, clock, outlets)
            services.save_error(campaign, "")
        except Unavailable as error:
            services.save_error(campaign, str(error))
            log.warning("%s waits: %s", campaign.slug, error)
        except NephoscopeError as error:
            services.fail(campaign, str(error), clock.now())
            log.warning("%s failed: %s", campaign.slug, error)


def advance(campaign: Campaign, clock: Clock, outlets: Outlets) -> None:
    """One step of one campaign; raises ``Unavailable``."""
    is_due = not campaign.starts_at or campaign.starts_at <= clock.now()
    if campaign.state == Campaign.State.WAITING and is_due:
        _reject_shared_target(campaign)
    # Laying out is slow, so the first slot is set afterwards.
    if services.create_units(campaign, clock.now()):
        services.mark_running(campaign, clock.now())
    now = clock.now()
    if campaign.state == Campaign.State.RUNNING:
        _send_all(campaign, now, outlets.ways)
    units.miss_past(campaign, now)
    if campaign.state == Campaign.State.RUNNING and units.is_complete(campaign):
        outlets.leave(conclude, campaign)
    elif conclusion.wants_report(campaign, now):
        outlets.leave(report, campaign)


def _reject_shared_target(campaign: Campaign) -> None:
    host = services.shared_target(campaign)
    if host:
        raise Unavailable(
            f"another campaign transfers at {host} too; this one begins when that has ended"
        )


def _queue(task: Task, campaign: Campaign) -> None:
    """Leave a task to a worker; one that lies in the queue already is not queued again."""
    queue_unless_queued(task, campaign.pk, for_s=_QUEUED_S)


def _send_all(campaign: Campaign, now: datetime, ways: Ways) -> None:
    due = units.due_units(campaign, now)
    again = [*units.unacknowledged_units(campaign, now), *units.overdue_units(campaign, now)]
    points = _points(u.vantage for u in (*due, *again))
    for vantage, waiting in _by_vantage(due).items():
        reason = _refusal(vantage, points.get(vantage), ways)
        if reason:
            units.miss_all(waiting, reason, now)
            points.pop(vantage, None)
    for unit in (*due, *again):
        point = points.get(unit.vantage)
        if point is not None:
            send(unit, point, now, ways)


def send(unit: CampaignUnit, point: VantagePoint, now: datetime, ways: Ways) -> bool:
    """Send one unit unless another scheduler did; raises ``Unavailable``."""
    if not units.mark_sent(unit, now):
        return False
    try:
        dispatch.send(unit, point, now, ways)
    except Unavailable:
        if unit.attempt == 1:
            units.requeue(unit)
        raise
    return True


def _points(names: Iterable[str]) -> dict[str, VantagePoint]:
    wanted = sorted(set(names))
    found: dict[str, VantagePoint] = {}
    for begin in range(0, len(wanted), 500):
        rows = VantagePoint.objects.filter(name__in=wanted[begin : begin + 500])
        found |= {p.name: p for p in rows}
    return found


def _by_vantage(found: Iterable[CampaignUnit]) -> dict[str, list[CampaignUnit]]:
    rows: dict[str, list[CampaignUnit]] = {}
    for unit in found:
        rows.setdefault(unit.vantage, []).append(unit)
    return rows


def _refusal(name: str, point: VantagePoint | None, ways: Ways) -> str:
    """Why a vantage point gets no work; empty when it does."""
    if point is None:
        return f"there is no vantage point {name} any more"
    if point.source not in ways:
        return f"nothing can be sent to a vantage point of {point.source}"
    if point.state != VantagePoint.State.JOINED:
        return f"the vantage point is {point.state}"
    return ""


@app.task(name="tasks.campaigns.report")
def report(campaign_id: int) -> None:
    """The tables of a campaign so far."""
    store_report(Campaign.objects.get(pk=campaign_id), SystemClock())


@app.task(name="tasks.campaigns.conclude")
def conclude(campaign_id: int) -> None:
    """The tables of a campaign after its last unit, and its end."""
    store_report(Campaign.objects.get(pk=campaign_id), SystemClock())


def store_report(campaign: Campaign, clock: Clock) -> None:
    """Report a campaign, and close it when all its units have ended; raise ``Unavailable``.

    Tables of a running campaign that cannot be stored are made again with the next report.
    """
    is_running = campaign.state == Campaign.State.RUNNING
    if is_running and units.is_complete(campaign):
        conclusion.conclude(campaign, clock.now())
    elif conclusion.claim_report(campaign, clock.now()):
        try:
            conclusion.report(campaign)
        except Unavailable as error:
            log.warning("%s: tables not stored: %s", campaign.slug, error)
