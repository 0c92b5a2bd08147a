"""The minute tick of schedules: plan what is due, start it, and notice what has ended.

All state is in the store and each step is one conditional update, so that a process may be killed
at any moment, and two processes may tick at once.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from core.errors import BadInput, NephoscopeError
from tasks.schedules import comparison, starting
from webapp.store.models import ScheduleRun
from webapp.store.schedules import deliveries, events, services

log = logging.getLogger(__name__)
State = ScheduleRun.State
# A run that no limit lets begin is given up after this time.
START_WITHIN = timedelta(hours=6)


def tick(now: datetime, compare: Callable[[ScheduleRun], None]) -> None:
    """Take every schedule one step further; ``compare`` gets each run that has ended."""
    services.plan_due(now)
    for run in services.open_runs(State.DUE):
        start_run(run, now)
    for run in services.open_runs(State.STARTED):
        if comparison.has_ended(run):
            compare(run)
    deliveries.enqueue_digests(now)
    deliveries.prune(now)


def start_run(run: ScheduleRun, now: datetime) -> None:
    """Start what a run is about, unless the run before is still under way or a limit is reached."""
    if not services.claim_start(run, now):
        return
    if services.is_overtaken(run):
        reason = "the run before was still under way"
        events.conclude(run, comparison.failed(reason, State.SKIPPED), now)
        return
    try:
        started = starting.start(run)
    except BadInput as error:
        events.conclude(run, comparison.failed(f"it could not start: {error}"), now)
    except NephoscopeError as error:
        _wait(run, str(error), now)
    else:
        services.mark_started(run, started, now)


def _wait(run: ScheduleRun, reason: str, now: datetime) -> None:
    log.info("run %s waits: %s", run, reason)
    if now - run.due_at > START_WITHIN:
        events.conclude(run, comparison.failed(f"it could not start in time: {reason}"), now)
    else:
        services.save_wait(run, reason)


def conclude_run(run: ScheduleRun, now: datetime) -> None:
    """Compare a run that has ended with the one before, and store its events; does so once."""
    if run.state == State.STARTED and comparison.has_ended(run):
        events.conclude(run, comparison.outcome_of(run), now)
