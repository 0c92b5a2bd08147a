"""Events of runs, stored with the deliveries that they cause in one transaction."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from webapp.store.models import Schedule, ScheduleEvent, ScheduleRun
from webapp.store.schedules import deliveries, services

MAX_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Change:
    """What changed about a subject, as text before and after."""

    kind: str
    subject: str = ""
    before: str = ""
    after: str = ""
    # By this the same matter is recognised in another run; the subject where it is empty.
    key: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and what changed since ``previous``."""

    state: str
    changes: Sequence[Change] = ()
    previous: ScheduleRun | None = None
    error: str = ""


def identify(run: ScheduleRun, change: Change) -> str:
    """The id of an event, the same whenever it is computed again."""
    parts = (run.schedule.slug, run.due_at.isoformat(), change.kind, _key(change))
    return f"evt_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:40]}"


def conclude(run: ScheduleRun, outcome: Outcome, now: datetime) -> bool:
    """End a run with its events and their deliveries; false where another process has done so."""
    with transaction.atomic():
        same = ScheduleRun.objects.filter(pk=run.pk, state__in=services.OPEN)
        ended = same.update(
            state=outcome.state,
            error=outcome.error[:1000],
            previous=outcome.previous,
            changes=dict(Counter(change.kind for change in outcome.changes)),
            finished_at=now,
        )
        if not ended:
            return False
        run.refresh_from_db()
        rows = [_event(run, change, now) for change in outcome.changes]
        _count_repeats(run, rows)
        ScheduleEvent.objects.bulk_create(rows)
        deliveries.enqueue(run, rows, now)
    return True


def _event(run: ScheduleRun, change: Change, now: datetime) -> ScheduleEvent:
    return ScheduleEvent(
        owner=run.schedule.owner,
        schedule=run.schedule,
        run=run,
        event_id=identify(run, change),
        kind=change.kind,
        subject=change.subject[:300],
        key=_key(change),
        before=_short(change.before),
        after=_short(change.after),
        detail=change.detail,
        created_at=now,
    )


def _key(change: Change) -> str:
    return (change.key or change.subject)[:300]


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _count_repeats(run: ScheduleRun, rows: Sequence[ScheduleEvent]) -> None:
    """Set the number of consecutive runs that had an event of the same kind and key."""
    rows_before = ScheduleRun.objects.filter(schedule=run.schedule_id, due_at__lt=run.due_at)
    before = rows_before.exclude(state__in=services.OPEN).first()
    if before is None:
        return
    found = ScheduleEvent.objects.filter(run=before).values_list("kind", "key", "repeats")
    repeats = {(kind, key): n for kind, key, n in found}
    for row in rows:
        row.repeats = repeats.get((row.kind, row.key), 0) + 1


def events_of(schedule: Schedule) -> QuerySet[ScheduleEvent]:
    """Events of a schedule, the newest first."""
    return ScheduleEvent.objects.filter(schedule=schedule).select_related("run")
