"""Messages as JSON documents, in the form that signed webhooks send."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from webapp.store.models import AlertEndpoint, ScheduleEvent, ScheduleRun
from webapp.store.schedules import kinds

# Events that one message lists; the rest is counted.
MAX_LISTED = 100
Payload = dict[str, Any]


def event_payload(event: ScheduleEvent) -> Payload:
    """The message about one event."""
    return _envelope(event.kind, event.created_at, event_document(event))


def run_payload(run: ScheduleRun, rows: Sequence[ScheduleEvent]) -> Payload:
    """The message about all events of a run."""
    data = {**_about_run(run), **_listed(rows)}
    assert run.finished_at is not None
    return _envelope(kinds.RUN, run.finished_at, data)


def digest_payload(rows: Sequence[ScheduleEvent], now: datetime) -> Payload:
    """The message about all events of a day."""
    return _envelope(kinds.DIGEST, now, {**_listed(rows), "links": {"page": _url("schedules/")}})


def test_payload(endpoint: AlertEndpoint, now: datetime) -> Payload:
    """A message that only tests delivery."""
    data = {
        "endpoint": endpoint.slug,
        "name": endpoint.name,
        "links": {"page": _url(f"alerts/{endpoint.slug}/")},
    }
    return _envelope(kinds.TEST, now, data)


def _envelope(kind: str, at: datetime, data: Payload) -> Payload:
    return {"type": kind, "timestamp": at.isoformat(), "data": data}


def _listed(rows: Sequence[ScheduleEvent]) -> Payload:
    return {
        "events": [event_document(row) for row in rows[:MAX_LISTED]],
        "n_events": len(rows),
        "n_by_kind": _count(row.kind for row in rows),
    }


def _count(found: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in found:
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def event_document(event: ScheduleEvent) -> Payload:
    """An event as messages and the API show it."""
    return {
        "id": event.event_id,
        "kind": event.kind,
        "subject": event.subject,
        "before": event.before,
        "after": event.after,
        "repeats": event.repeats,
        "at": event.created_at.isoformat(),
        "detail": event.detail,
        **_about_run(event.run),
    }


def _about_run(run: ScheduleRun) -> Payload:
    schedule = run.schedule
    return {
        "schedule": schedule.slug,
        "schedule_name": schedule.name,
        "due_at": run.due_at.isoformat(),
        "links": {"page": _url(f"schedules/{schedule.slug}/")},
    }


def _url(path: str) -> str:
    return f"{settings.SITE_URL}/{path}"
