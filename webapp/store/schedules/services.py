"""Schedules and their runs: every state transition, each one conditional update."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from core.errors import BadInput, Conflict
from webapp.store.models import Schedule, ScheduleRun
from webapp.store.requests.texts import is_printable, slug_of
from webapp.store.schedules import timing

State = ScheduleRun.State
MAX_SCHEDULES = 50
# Longer than reading the largest list takes.
START_LEASE = timedelta(seconds=90)
OPEN = (State.DUE, State.STARTED)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When a schedule is due: by exactly one of a cron expression and an interval."""

    cron: str = ""
    interval_minutes: int | None = None
    time_zone: str = "UTC"

    def checked(self, now: datetime) -> "Recurrence":
        """The same in its normal form; raises ``BadInput``."""
        if bool(self.cron) == (self.interval_minutes is not None):
            raise BadInput("give one of cron and interval_minutes", field="cron")
        zone = timing.check_zone(self.time_zone)
        if self.interval_minutes is not None:
            return Recurrence("", timing.check_interval(self.interval_minutes), zone)
        return Recurrence(timing.check_cron(self.cron, zone, now), None, zone)

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment."""
        times = timing.due_times(self.cron, self.interval_minutes, self.time_zone, moment)
        return next(times, None)


def recurrence_of(row: Schedule) -> Recurrence:
    """When a schedule is due."""
    return Recurrence(row.cron, row.interval_minutes, row.time_zone)


def upcoming(row: Schedule, count: int = 5) -> list[datetime]:
    """The next due times of an active schedule, in UTC."""
    if row.next_due is None:
        return []
    more = timing.due_times(row.cron, row.interval_minutes, row.time_zone, row.next_due)
    return [row.next_due, *islice(more, count - 1)]


def check_name(name: str) -> str:
    """The name without surrounding blanks; raises ``BadInput``."""
    text = name.strip()
    if not text or len(text) > 200 or not is_printable(text):
        raise BadInput("give a name of at most 200 printable characters", field="name")
    return text


def create_schedule(
    owner: Any,
    name: str,
    what: tuple[str, Mapping[str, Any]],
    recurrence: Recurrence,
    now: datetime,
) -> Schedule:
    """Store an active schedule of a kind with its checked request; raises ``BadInput``."""
    text, times = check_name(name), recurrence.checked(now)
    if Schedule.objects.filter(owner=owner).count() >= MAX_SCHEDULES:
        raise Conflict(f"an account has at most {MAX_SCHEDULES} schedules; delete one first")
    kind, request = what
    return Schedule.objects.create(
        owner=owner,
        slug=slug_of(text, "schedule"),
        name=text,
        kind=kind,
        request=dict(request),
        cron=times.cron,
        interval_minutes=times.interval_minutes,
        time_zone=times.time_zone,
        next_due=times.next_after(now),
    )


def change_schedule(row: Schedule, changed: Mapping[str, Any], now: datetime) -> None:
    """Change name, recurrence or activity; raises ``BadInput``.

    A schedule that becomes active again is due at its next time, not at once.
    """
    if "name" in changed:
        row.name = check_name(changed["name"])
    own = {k: changed[k] for k in ("cron", "interval_minutes", "time_zone") if k in changed}
    if own:
        _set_recurrence(row, own, now)
    is_active = changed.get("is_active", row.is_active)
    if own or is_active != row.is_active:
        row.next_due = recurrence_of(row).next_after(now) if is_active else None
    row.is_active = is_active
    row.save(
        update_fields=[
            *("name", "cron", "interval_minutes", "time_zone"),
            *("is_active", "next_due"),
        ]
    )


def _set_recurrence(row: Schedule, own: Mapping[str, Any], now: datetime) -> None:
    """The one of cron and interval that is given replaces the other."""
    base = {"cron": row.cron, "interval_minutes": row.interval_minutes, "time_zone": row.time_zone}
    if own.get("cron"):
        base["interval_minutes"] = None
    elif own.get("interval_minutes") is not None:
        base["cron"] = ""
    times = Recurrence(**{**base, **{k: v for k, v in own.items() if v is not None}}).checked(now)
    row.cron, row.interval_minutes = times.cron, times.interval_minutes
    row.time_zone = times.time_zone


def find_schedule(slug: str, user: Any) -> Schedule | None:
    """The schedule of this account, or None."""
    return schedules_of(user).filter(slug=slug).first()


def schedules_of(user: Any) -> QuerySet[Schedule]:
    """The schedules of an account by name; none without an account."""
    if user is None or not user.is_authenticated:
        return Schedule.objects.none()
    return Schedule.objects.filter(owner=user.pk)


def plan_due(now: datetime) -> int:
    """Make a run for each schedule that is due and set its next due time; return their number.

    Due times that were missed make one run together. Run and next due time are stored in one
    transaction and each due time has one run, so that no two processes plan the same.
    """
    due = Schedule.objects.filter(is_active=True, owner__is_active=True, next_due__lte=now)
    return sum(_plan_one(row, now) for row in due.defer("request"))


def _plan_one(row: Schedule, now: datetime) -> bool:
    assert row.next_due is not None
    span = (row.next_due, now)
    following, missed = timing.first_after(row.cron, row.interval_minutes, row.time_zone, span)
    with transaction.atomic():
        same = Schedule.objects.filter(pk=row.pk, next_due=row.next_due, is_active=True)
        if not same.update(next_due=following):
            return False
        _, is_new = ScheduleRun.objects.get_or_create(
            schedule=row, due_at=row.next_due, defaults={"missed": missed}
        )
    return is_new


def run_now(row: Schedule, now: datetime) -> ScheduleRun:
    """Make a run that is due at once; raises ``BadInput`` while another is under way."""
    if row.runs.filter(state__in=OPEN).exists():
        raise Conflict("a run of this schedule is in progress already")
    run, _ = ScheduleRun.objects.get_or_create(schedule=row, due_at=now.replace(microsecond=0))
    return run


def open_runs(*states: str) -> QuerySet[ScheduleRun]:
    """Runs in these states, the oldest first."""
    rows = ScheduleRun.objects.filter(state__in=states).order_by("due_at", "id")
    return rows.select_related("schedule__owner", "survey", "campaign", "audit__survey")


def is_overtaken(run: ScheduleRun) -> bool:
    """Whether an earlier run of the same schedule is still under way."""
    earlier = Q(due_at__lt=run.due_at) & Q(state__in=OPEN)
    return ScheduleRun.objects.filter(earlier, schedule=run.schedule_id).exists()


def claim_start(run: ScheduleRun, now: datetime) -> bool:
    """Take a run to start it; false where another process has it, or has started it."""
    free = Q(leased_until=None) | Q(leased_until__lte=now)
    same = ScheduleRun.objects.filter(free, pk=run.pk, state=State.DUE)
    return bool(same.update(leased_until=now + START_LEASE))


def mark_started(run: ScheduleRun, started: Mapping[str, Any], now: datetime) -> bool:
    """Link what a run started; false where another process has done so."""
    same = ScheduleRun.objects.filter(pk=run.pk, state=State.DUE)
    return bool(same.update(state=State.STARTED, started_at=now, error="", **started))


def save_wait(run: ScheduleRun, reason: str) -> None:
    """Remember why a run could not start yet."""
    same = ScheduleRun.objects.filter(pk=run.pk, state=State.DUE)
    same.update(error=reason[:1000], leased_until=None)


def last_compared(run: ScheduleRun) -> ScheduleRun | None:
    """The run before with data, or None."""
    rows = ScheduleRun.objects.filter(
        schedule=run.schedule_id, state=State.COMPARED, due_at__lt=run.due_at
    )
    return rows.select_related("survey", "campaign", "audit__survey").first()


def compared_until(run: ScheduleRun, count: int) -> list[ScheduleRun]:
    """The last runs with data before this one, the oldest first."""
    rows = ScheduleRun.objects.filter(
        schedule=run.schedule_id, state=State.COMPARED, due_at__lt=run.due_at
    )
    return list(rows.select_related("campaign")[:count])[::-1]


def failed_before(run: ScheduleRun) -> bool:
    """Whether the run before this one gave no data."""
    rows = ScheduleRun.objects.filter(schedule=run.schedule_id, due_at__lt=run.due_at)
    before = rows.exclude(state__in=OPEN).first()
    return before is not None and before.state in (State.FAILED, State.SKIPPED)
